package sandbox

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func TestDescribeConfined(t *testing.T) {
	memory := sandbox.Limit{Value: 256 << 20, By: sandbox.Rlimit}
	cases := map[string]struct {
		reason   string
		report   sandbox.Report
		settings settings
		want     string
	}{
		"Root":       {"the restrictions in force are listed", sandbox.Report{Chroot: true, HostID: 165532, Landlock: 7}, settings{}, "chroot, user 165532, Landlock 7, seccomp, no outgoing connections"},
		"User":       {"a missing chroot is reported", sandbox.Report{HostID: 1000, Landlock: 3}, settings{}, "no chroot, user 1000, Landlock 3, seccomp, no outgoing connections"},
		"NoRights":   {"root without capabilities is reported", sandbox.Report{Landlock: 7}, settings{}, "no chroot, root without capabilities, Landlock 7, seccomp, no outgoing connections"},
		"NoLandlock": {"without Landlock and chroot the user's files are exposed", sandbox.Report{HostID: 1000}, settings{}, "no chroot, user 1000, no Landlock: it can read and change the files of this user, seccomp, no outgoing connections"},
		"Unpacked":   {"without Landlock the unpacked image is exposed", sandbox.Report{Chroot: true, HostID: 1}, settings{}, "chroot, user 1, no Landlock: it can change its unpacked image, seccomp, no outgoing connections"},
		"Network":    {"an annotation permits the network", sandbox.Report{HostID: 1, Landlock: 7, Network: sandbox.Runner}, settings{}, "no chroot, user 1, Landlock 7, seccomp, network of this machine"},
		"Limits":     {"an enforced limit and a missing limit are reported", sandbox.Report{Chroot: true, HostID: 1, Landlock: 7, Memory: memory}, settings{limits: sandbox.Limits{CPU: 1}}, "chroot, user 1, Landlock 7, seccomp, memory 256 MiB by rlimit, no outgoing connections, no CPU limit"},
		"Writable":   {"a missing writable root is reported", sandbox.Report{Chroot: true, HostID: 1, Landlock: 7}, settings{writable: true}, "chroot, user 1, Landlock 7, seccomp, no outgoing connections, only TMPDIR is writable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, describeConfined(tc.report, tc.settings))
		})
	}
}

// TestAdvice checks the hint of a NamespaceError: the setting to change, if it
// is known, and the runtime to use instead.
func TestAdvice(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    sandbox.NamespaceError
		want   string
	}{
		"Container": {"the cause is unknown", sandbox.NamespaceError{}, "in a container, its seccomp profile forbids them"},
		"Ubuntu":    {"AppArmor forbids user namespaces", sandbox.NamespaceError{Setting: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", Value: "1"}, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		"Debian":    {"a sysctl disables user namespaces", sandbox.NamespaceError{Setting: "/proc/sys/kernel/unprivileged_userns_clone", Value: "0"}, "sysctl -w kernel.unprivileged_userns_clone=1"},
		"None":      {"the number of user namespaces is limited to zero", sandbox.NamespaceError{Setting: "/proc/sys/user/max_user_namespaces", Value: "0"}, "sysctl -w user.max_user_namespaces=10000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := string(hint.Of(advise(&tc.err)))
			e2e.Has(t, tc.reason, got, tc.want)
			e2e.Has(t, tc.reason, got, "{runtime} Process")
		})
	}
}
