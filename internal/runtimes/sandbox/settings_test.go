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

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func TestSettings(t *testing.T) {
	cases := map[string]struct {
		reason, annotation, text string
		want                     settings
		wantErr                  string
	}{
		"None":         {"no annotation is needed", "example.org/other", "x", settings{}, ""},
		"Isolated":     {"the default may be written", AnnotationNetwork, "Isolated", settings{}, ""},
		"Runner":       {"the alpha's word for the machine's network", AnnotationNetwork, "Runner", settings{network: sandbox.Runner}, ""},
		"Network":      {"there are two networks", AnnotationNetwork, "Host", settings{}, `unknown network "Host": it is Isolated or Runner`},
		"Env":          {"variables are separated by commas", AnnotationEnv, "A=b,C=d=e,F=", settings{env: []string{"A=b", "C=d=e", "F="}}, ""},
		"EnvNoValue":   {"each has a value", AnnotationEnv, "A", settings{}, `expected KEY=value, got "A"`},
		"EnvNoName":    {"and a name", AnnotationEnv, "A=b,=c", settings{}, `expected KEY=value, got "=c"`},
		"Memory":       {"memory is in bytes", AnnotationMemory, "128Mi", settings{limits: sandbox.Limits{Memory: 128 << 20}}, ""},
		"MemoryNone":   {"nothing is no memory", AnnotationMemory, "0", settings{}, `"0" is not above zero`},
		"MemoryUnit":   {"a number is one of bytes", AnnotationMemory, "128", settings{}, `"128" is 128 bytes, and no program runs with less than 16Mi`},
		"Unknown":      {"what is misspelt says nothing, and is not passed over", prefix + "memroy", "1Gi", settings{}, "there is no such setting of a sandbox"},
		"MemoryText":   {"a quantity is one", AnnotationMemory, "much", settings{}, `"much" is no quantity`},
		"CPU":          {"processors are in thousandths", AnnotationCPU, "0.5", settings{limits: sandbox.Limits{CPU: 500}}, ""},
		"Timeout":      {"calls may be bounded", AnnotationTimeout, "20s", settings{timeout: 20 * time.Second}, ""},
		"TimeoutBelow": {"by some time", AnnotationTimeout, "-1s", settings{}, "-1s is no time to answer in"},
		"Writable":     {"a root may be written to", AnnotationWritable, "true", settings{writable: true}, ""},
		"WritableText": {"or not, but nothing else", AnnotationWritable, "maybe", settings{}, "invalid syntax"},
		"Policy":       {"images may always be asked for", AnnotationPullPolicy, "Always", settings{policy: image.Always}, ""},
		"PolicyText":   {"by one of three words", AnnotationPullPolicy, "Sometimes", settings{}, `unknown pull policy "Sometimes"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := settingsOf(map[string]string{tc.annotation: tc.text})
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
	write(t, root, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\nbroken\nnonroot:x:65532:65531:nonroot:/home:/sbin/nologin\nodd:x:many:1::/:\n")
	write(t, root, "etc/group", "root:x:0:\nstaff:x:50:\n")
	cases := map[string]struct {
		reason, user string
		uid, gid     int
		wantErr      string
	}{
		"None":        {"nobody said is root", "", 0, 0, ""},
		"Number":      {"a number needs no account", "1234", 1234, 0, ""},
		"Known":       {"but has the group of its account", "65532", 65532, 65531, ""},
		"Name":        {"a name is looked up", "nonroot", 65532, 65531, ""},
		"Group":       {"a group beats that of the account", "nonroot:staff", 65532, 50, ""},
		"GroupNumber": {"it may be a number", "65532:7", 65532, 7, ""},
		"Unknown":     {"a name has to be there", "somebody", 0, 0, `etc/passwd has no "somebody"`},
		"NoGroup":     {"and a group", "nonroot:somebodies", 0, 0, `etc/group has no "somebodies"`},
		"Odd":         {"an id is a number", "odd", 0, 0, `etc/passwd has no "odd"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			uid, gid, err := userOf(root, tc.user)
			if tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr {
					t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			if err != nil || uid != tc.uid || gid != tc.gid {
				t.Errorf("%s: got %d:%d, %v", tc.reason, uid, gid, err)
			}
		})
	}
}

// Accounts are those of the root, wherever links in it lead.
func TestUserLinks(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	write(t, outside, "passwd", "me:x:1:1::/:\n")
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "passwd"), filepath.Join(root, "etc/passwd")); err != nil {
		t.Fatal(err)
	}
	if uid, gid, err := userOf(root, "me"); err == nil {
		t.Errorf("got %d:%d from outside of the root", uid, gid)
	}
	if uid, _, err := userOf(root, "5"); uid != 5 || err != nil {
		t.Errorf("a number needs no accounts: got %d, %v", uid, err)
	}
}

func TestSpec(t *testing.T) {
	root := &rootfs.Root{Path: t.TempDir(), Config: v1.Config{
		Entrypoint: []string{"/fn"}, Cmd: []string{"--debug"}, Env: []string{"A=image", "PATH=/bin"}, User: "7:8", WorkingDir: "work",
	}}
	got, err := specOf(root, settings{env: []string{"A=annotation"}, writable: true, limits: sandbox.Limits{CPU: 5}})
	if err != nil {
		t.Fatal(err)
	}
	want := sandbox.Spec{
		Root: root.Path, Args: []string{"/fn", "--debug"}, Env: []string{"PATH=/bin", "A=annotation"},
		Dir: "/work", UID: 7, GID: 8, Writable: true, Limits: sandbox.Limits{CPU: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := specOf(&rootfs.Root{Path: t.TempDir()}, settings{}); err == nil || err.Error() != "its image has no entrypoint" {
		t.Errorf("got %v", err)
	}
}

// An image may have as many variables as its author likes, and no more than a
// program may be started with.
func TestSpecManyVariables(t *testing.T) {
	many := make([]string, 40_000)
	for i := range many {
		many[i] = fmt.Sprintf("VARIABLE%d=value", i%20_000)
	}
	root := &rootfs.Root{Path: t.TempDir(), Config: v1.Config{Entrypoint: []string{"/fn"}, Env: many}}
	got, err := specOf(root, settings{})
	if err != nil || len(got.Env) != 20_001 { // and PATH
		t.Errorf("got %d variables, %v", len(got.Env), err)
	}
	root.Config.Cmd = []string{strings.Repeat("x", 1<<20)}
	if _, err := specOf(root, settings{}); err == nil || !strings.Contains(err.Error(), "bytes, more than the 1048576 that a program may be started with") {
		t.Errorf("got %v", err)
	}
}

func TestDescribe(t *testing.T) {
	cases := map[string]struct {
		reason string
		report sandbox.Report
		want   string
	}{
		"Plain":  {"what is usual is short", sandbox.Report{Landlock: 7}, "loopback only"},
		"Limits": {"limits say what keeps them", sandbox.Report{Landlock: 7, Memory: sandbox.Limit{Value: 128 << 20, By: sandbox.CgroupV2}, CPU: sandbox.Limit{Value: 500, By: sandbox.CgroupV1}}, "loopback only, memory 128 MiB by cgroup v2, CPU 500m by cgroup v1"},
		"Less":   {"what is missing is said", sandbox.Report{Network: sandbox.Runner}, "network of this machine, no Landlock"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := describe(tc.report); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestStarved(t *testing.T) {
	cases := map[string]struct {
		reason string
		code   int
		stderr string
		want   bool
	}{
		"Killed":  {"the kernel kills for a cgroup", 137, "", true},
		"Go":      {"Go complains first, and then at length", 2, "fatal error: runtime: cannot allocate memory\n" + strings.Repeat("stack\n", 50), true},
		"Python":  {"so does the C library", 1, "[Errno 12] Cannot allocate memory\n", true},
		"Another": {"and else it is something else", 1, "no such file\n", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out := &local.Output{}
			_, _ = out.Write([]byte(tc.stderr))
			if got := starved(tc.code, out); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
