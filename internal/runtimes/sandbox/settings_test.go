package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func TestSettings(t *testing.T) {
	cases := map[string]struct {
		reason, annotation, text string
		want                     settings
		wantErr                  string
	}{
		"None":         {"annotations of others are ignored", "example.org/other", "x", settings{}, ""},
		"Isolated":     {"Isolated is the default", AnnotationNetwork, "Isolated", settings{}, ""},
		"Runner":       {"Runner is the machine's network", AnnotationNetwork, "Runner", settings{network: sandbox.Runner}, ""},
		"Network":      {"the network is one of two", AnnotationNetwork, "Host", settings{}, `unknown network "Host": expected Isolated or Runner`},
		"Env":          {"variables are separated by commas", AnnotationEnv, "A=b,C=d=e,F=", settings{env: []string{"A=b", "C=d=e", "F="}}, ""},
		"EnvNoValue":   {"a variable needs a value", AnnotationEnv, "A", settings{}, `expected KEY=value, got "A"`},
		"EnvNoName":    {"a variable needs a name", AnnotationEnv, "A=b,=c", settings{}, `expected KEY=value, got "=c"`},
		"Memory":       {"memory is parsed to bytes", AnnotationMemory, "128Mi", settings{limits: sandbox.Limits{Memory: 128 << 20}}, ""},
		"MemoryNone":   {"a memory limit of zero is an error", AnnotationMemory, "0", settings{}, `must be positive, got "0"`},
		"MemoryUnit":   {"a memory limit without a unit is an error", AnnotationMemory, "128", settings{}, `"128" is 128 bytes, expected at least 16Mi`},
		"Unknown":      {"an unknown annotation with the prefix is an error", prefix + "memroy", "1Gi", settings{}, "unknown setting of the sandbox runtime"},
		"MemoryText":   {"a memory limit is a quantity", AnnotationMemory, "much", settings{}, `expected a quantity such as 128Mi or 500m, got "much"`},
		"CPU":          {"CPU is parsed to thousandths", AnnotationCPU, "0.5", settings{limits: sandbox.Limits{CPU: 500}}, ""},
		"Timeout":      {"a timeout is a duration", AnnotationTimeout, "20s", settings{timeout: 20 * time.Second}, ""},
		"TimeoutBelow": {"a timeout is positive", AnnotationTimeout, "-1s", settings{}, "must be positive, got -1s"},
		"Writable":     {"a root may be writable", AnnotationWritable, "true", settings{writable: true}, ""},
		"WritableText": {"writable is true or false", AnnotationWritable, "maybe", settings{}, "invalid syntax"},
		"Policy":       {"the pull policy may be Always", AnnotationPullPolicy, "Always", settings{policy: image.Always}, ""},
		"PolicyText":   {"the pull policy is one of three", AnnotationPullPolicy, "Sometimes", settings{}, `unknown pull policy "Sometimes"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseSettings(map[string]string{tc.annotation: tc.text})
			if tc.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "annotation "+tc.annotation+": ") || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settings{})); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestUser(t *testing.T) {
	root := t.TempDir()
	e2e.WriteFile(t, filepath.Join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nbroken\nnonroot:x:65532:65531:nonroot:/home:/sbin/nologin\nodd:x:many:1::/:\n")
	e2e.WriteFile(t, filepath.Join(root, "etc/group"), "root:x:0:\nstaff:x:50:\n")
	cases := map[string]struct {
		reason, user string
		uid, gid     int
		wantErr      string
	}{
		"None":        {"an image without a user runs as root", "", 0, 0, ""},
		"Number":      {"a numeric id needs no account", "1234", 1234, 0, ""},
		"Known":       {"a numeric id has the group of its account", "65532", 65532, 65531, ""},
		"Name":        {"a name is looked up", "nonroot", 65532, 65531, ""},
		"Group":       {"a named group replaces the group of the account", "nonroot:staff", 65532, 50, ""},
		"GroupNumber": {"a numeric group replaces the group of the account", "65532:7", 65532, 7, ""},
		"Unknown":     {"a user name must exist", "somebody", 0, 0, `the image's etc/passwd has no entry for "somebody"`},
		"NoGroup":     {"a group name must exist", "nonroot:somebodies", 0, 0, `the image's etc/group has no entry for "somebodies"`},
		"Odd":         {"the id of an account is a number", "odd", 0, 0, `the image's etc/passwd has no entry for "odd"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			uid, gid, err := lookupUser(root, tc.user)
			if tc.wantErr != "" {
				e2e.Equal(t, tc.reason, tc.wantErr, fmt.Sprint(err))
				return
			}
			if err != nil || uid != tc.uid || gid != tc.gid {
				t.Errorf("%s: got %d:%d, %v", tc.reason, uid, gid, err)
			}
		})
	}
}

// TestUserLinks checks that a symbolic link in the root cannot lead to an account file
// outside of the root.
func TestUserLinks(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	e2e.WriteFile(t, filepath.Join(outside, "passwd"), "me:x:1:1::/:\n")
	e2e.NoError(t, os.Mkdir(filepath.Join(root, "etc"), 0o755))
	e2e.NoError(t, os.Symlink(filepath.Join(outside, "passwd"), filepath.Join(root, "etc/passwd")))
	if uid, gid, err := lookupUser(root, "me"); err == nil {
		t.Errorf("got %d:%d from outside of the root", uid, gid)
	}
	if uid, _, err := lookupUser(root, "5"); uid != 5 || err != nil {
		t.Errorf("a numeric id without account files: got %d, %v", uid, err)
	}
}

func TestSpec(t *testing.T) {
	root := &rootfs.Root{Path: t.TempDir(), Config: v1.Config{
		Entrypoint: []string{"/fn"}, Cmd: []string{"--debug"}, Env: []string{"A=image", "PATH=/bin"}, User: "7:8", WorkingDir: "work",
	}}
	got := e2e.Must(specOf(root, settings{env: []string{"A=annotation"}, writable: true, limits: sandbox.Limits{CPU: 5}}))(t)
	want := sandbox.Spec{
		Root: root.Path, Args: []string{"/fn", "--debug"}, Env: []string{"PATH=/bin", "A=annotation"},
		Dir: "/work", UID: 7, GID: 8, Writable: true, Limits: sandbox.Limits{CPU: 5},
	}
	e2e.Equal(t, "the settings of the annotations override those of the image", want, got)
	e2e.Equal(t, "an image without an entrypoint is an error", "the image has no entrypoint", fmt.Sprint(e2e.Err(specOf(&rootfs.Root{Path: t.TempDir()}, settings{}))))
}

// TestSpecManyVariables checks that an image may have many environment variables, up to
// the size limit of a program's arguments and environment.
func TestSpecManyVariables(t *testing.T) {
	many := make([]string, 40_000)
	for i := range many {
		many[i] = fmt.Sprintf("VARIABLE%d=value", i%20_000)
	}
	root := &rootfs.Root{Path: t.TempDir(), Config: v1.Config{Entrypoint: []string{"/fn"}, Env: many}}
	e2e.Equal(t, "the environment has each variable once, and PATH", 20_001, len(e2e.Must(specOf(root, settings{}))(t).Env))
	root.Config.Cmd = []string{strings.Repeat("x", 1<<20)}
	e2e.ErrorHas(t, "the size of arguments and variables is limited", e2e.Err(specOf(root, settings{})), "bytes, more than the limit of 1048576")
}

func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		reason string
		report sandbox.Report
		want   string
	}{
		"Plain":  {"complete restrictions have a short text", sandbox.Report{Landlock: 7}, "loopback only"},
		"Limits": {"each limit names what enforces it", sandbox.Report{Landlock: 7, Memory: sandbox.Limit{Value: 128 << 20, By: sandbox.CgroupV2}, CPU: sandbox.Limit{Value: 500, By: sandbox.CgroupV1}}, "loopback only, memory 128 MiB by cgroup v2, CPU 500m by cgroup v1"},
		"Less":   {"a missing restriction is reported", sandbox.Report{Network: sandbox.Runner}, "network of this machine, no Landlock"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, describe(tc.report))
		})
	}
}

func TestOutOfMemory(t *testing.T) {
	cases := map[string]struct {
		reason string
		code   int
		stderr string
		want   bool
	}{
		"Killed":  {"the kernel kills at a cgroup limit", 137, "", true},
		"Go":      {"Go writes the error before a long stack", 2, "fatal error: runtime: cannot allocate memory\n" + strings.Repeat("stack\n", 50), true},
		"Python":  {"the C library writes the error", 1, "[Errno 12] Cannot allocate memory\n", true},
		"Another": {"another error is not about memory", 1, "no such file\n", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := &proc.Output{}
			_, _ = out.Write([]byte(tc.stderr))
			e2e.Equal(t, tc.reason, tc.want, outOfMemory(tc.code, out))
		})
	}
}
