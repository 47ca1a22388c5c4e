package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// isolatedVar is set in a process that has its own network namespace.
const isolatedVar = "XFN_TEST_ISOLATED"

// asked begins a line of isolated about a question to the resolver.
const asked = "the resolver was asked for "

func init() { programs["isolated"] = isolated }

// isolated is "isolated COMMAND ARGS…": it runs the command in a network namespace that has
// only a loopback interface, and writes the questions to the resolver to stderr. The resolver
// knows no name. A command that says that it serves or watches is interrupted.
func isolated() {
	code, err := runIsolated(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "isolated:", err)
		code = 125
	}
	os.Exit(code)
}

func runIsolated(args []string) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	if os.Getenv(isolatedVar) == "" {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		cmd = exec.Command(self, args...)
		cmd.Args[0] = os.Args[0]
		cmd.Env = append(os.Environ(), isolatedVar+"=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
		return codeOf(cmd.Run())
	}
	if err := errors.Join(startLoopback(), useResolver(), serveResolver()); err != nil {
		return 0, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_ = in.Close()
	serving := regexp.MustCompile(`^(listening on|note: serving|watching \d)`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(os.Stderr, lines.Text())
		if serving.MatchString(lines.Text()) {
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
	return codeOf(cmd.Wait())
}

// codeOf returns the exit code of a process that ended with err.
func codeOf(err error) (int, error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func startLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// useResolver makes 127.0.0.1 the resolver of this mount namespace.
func useResolver() error {
	config, err := os.CreateTemp("", "resolv")
	if err != nil {
		return err
	}
	defer os.Remove(config.Name())
	_, err = io.WriteString(config, "nameserver 127.0.0.1\n")
	return errors.Join(err, config.Close(),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(config.Name(), "/etc/resolv.conf", "", unix.MS_BIND, ""))
}

func serveResolver() error {
	conn, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		return err
	}
	go func() {
		for buf := make([]byte, 4096); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			fmt.Fprintln(os.Stderr, asked+m.Questions[0].Name.String())
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RCode: dnsmessage.RCodeNameError}, Questions: m.Questions}
			if data, err := answer.Pack(); err == nil {
				_, _ = conn.WriteTo(data, from)
			}
		}
	}()
	return nil
}

// TestNoTelemetry runs every command where no host can be reached, and checks that no
// command looks up a host that the user did not name.
func TestNoTelemetry(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can create a network namespace without a user namespace")
	}
	const (
		unreachable = "127.0.0.1:1/a/b:v1"
		// mirror is the host of an ImageConfig in the project.
		mirror = "mirror.example.org."
	)
	// The commands run in this order: some commands need files that earlier commands write.
	cases := []struct {
		command, args string
		code          int
	}{
		{"version", "", done},
		{"completion", "bash", done},
		{"lock", "bucket/functions.yaml --offline", failed},
		{"render", "bucket/xr.yaml bucket/composition.yaml bucket/functions.yaml", done},
		{"test", "bucket", done},
		{"upgrade-check", "bucket", failed},
		{"rbac", "bucket/composition.yaml", done},
		{"validate", "project/apis/definition.yaml project/examples/app.yaml --offline", done},
		{"dev", "bucket/xr.yaml bucket/composition.yaml bucket/functions.yaml", done},
		{"diff", "bucket/composition.yaml bucket/functions.yaml --observed dump.yaml", done},
		{"convert pipeline-composition", "bucket/composition.yaml", failed},
		{"convert composition-environment", "bucket/composition.yaml", done},
		{"operation render", "operation.yaml functions.yaml", done},
		{"cache info", "", done},
		{"cache prune", "", done},
		{"function list", "", done},
		{"function schema", "patch-and-transform", done},
		{"function call", "patch-and-transform -f request.yaml", done},
		{"function serve", "patch-and-transform --address 127.0.0.1:0 --insecure", done},
		{"registry serve", "--address 127.0.0.1:0", done},
		{"alpha start", "--address unix:alpha.sock", done},
		{"alpha run", unreachable + " operation.yaml", failed},
		{"run", unreachable, failed},
		{"xpkg init", "function-hello go-templating -d fn", done},
		{"xpkg lint", "conf", done},
		{"xpkg build", "-f conf -o conf.xpkg", done},
		{"xpkg inspect", "conf.xpkg", done},
		{"xpkg extract", "conf.xpkg --from-xpkg -o out.gz", done},
		{"xpkg get-crds", "conf.xpkg -o crds", failed},
		{"xpkg diff", "conf.xpkg conf.xpkg", done},
		{"xpkg push", "-f conf.xpkg " + unreachable, failed},
		{"xpkg pull", unreachable, failed},
		{"xpkg verify", unreachable + " --key key.pub", failed},
		{"xpkg keygen", "--password-file dump.yaml -o pair", done},
		{"xpkg sign", unreachable + " --sign-key pair.key", failed},
		{"xpkg copy", unreachable + " 127.0.0.1:1/a/c:v1", failed},
		{"project init", "new", done},
		{"project lint", "-f project/crossplane-project.yaml", done},
		{"project build", "-f project/crossplane-project.yaml", failed},
		{"project push", "-f project/crossplane-project.yaml", failed},
		{"project pull", unreachable, failed},
		{"project copy", unreachable + " 127.0.0.1:1/a/c:v1", failed},
		{"function generate", "more -l go-templating -f project/crossplane-project.yaml", done},
		{"composition generate", "project/apis/definition.yaml --path other.yaml -f project/crossplane-project.yaml", done},
		{"dependency add", "127.0.0.1:1/a/b:v1 -f project/crossplane-project.yaml", failed},
		{"dependency update-cache", "-f project/crossplane-project.yaml", failed},
		{"dependency clean-cache", "-f project/crossplane-project.yaml", done},
		{"xr patch", "bucket/xr.yaml --xrd project/apis/definition.yaml", failed},
		{"xrd convert", "project/apis/definition.yaml", done},
		{"image", "-o image.tar", done},
		{"xr generate", "project/apis/definition.yaml", done},
		{"xrd generate", "bucket/xr.yaml -f project/crossplane-project.yaml", done},
	}
	dir := t.TempDir()
	for folder, from := range map[string]string{"bucket": "../../examples/bucket", "project": projectsDir + "/templates"} {
		e2e.NoError(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(from)))
	}
	e2e.WriteFiles(t, dir, isolatedFiles)
	all := commandsInDocs(t)
	for _, tc := range cases {
		delete(all, tc.command)
		code, stdout, stderr := isolate(t, dir, append(strings.Fields(tc.command), strings.Fields(tc.args)...))
		if code != tc.code {
			t.Errorf("xfn %s %s: exit code %d, want %d: %s%s", tc.command, tc.args, code, tc.code, stdout, stderr)
		}
		if strings.Contains(strings.ReplaceAll(stderr, asked+mirror, ""), asked) {
			t.Errorf("xfn %s %s: %s", tc.command, tc.args, stderr)
		}
	}
	for command := range all {
		t.Errorf("the test does not run xfn %s", command)
	}
	if _, _, stderr := isolate(t, dir, []string{"xpkg", "pull", "registry.example.org/a/b:v1"}); !strings.Contains(stderr, asked+"registry.example.org.") {
		t.Errorf("the resolver was not asked for a host that the user named: %s", stderr)
	}
}

// isolatedFiles are the files of TestNoTelemetry, by path.
var isolatedFiles = map[string]string{
	"operation.yaml":       "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata:\n  name: check\nspec:\n  mode: Pipeline\n  pipeline:\n  - step: ready\n    functionRef:\n      name: function-auto-ready\n",
	"functions.yaml":       "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: function-auto-ready\nspec:\n  package: xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.0\n",
	"request.yaml":         "input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}}]}\n",
	"conf/crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: conf\n",
	"key.pub":              "none",
	"dump.yaml":            "apiVersion: v1\nkind: List\nitems: []\n",
}

// isolate runs xfn in dir by the command isolated.
func isolate(t *testing.T, dir string, args []string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(e2e.Context(t), "isolated", append([]string{e2e.Binary(t)}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XFN_CACHE_DIR="+filepath.Join(dir, "cache"), "DOCKER_CONFIG="+dir, "DOCKER_HOST=unix://"+dir+"/no-engine.sock", "XDG_RUNTIME_DIR="+dir)
	return runCommand(t, cmd)
}

// commandsInDocs returns all commands of the generated reference.
func commandsInDocs(t *testing.T) map[string]bool {
	t.Helper()
	files := e2e.Glob(t, "../../docs/reference/commands/*.md")
	all := map[string]bool{}
	for _, file := range files {
		for _, heading := range regexp.MustCompile(`(?m)^##? xfn (.+)$`).FindAllStringSubmatch(e2e.ReadFile(t, file), -1) {
			all[heading[1]] = true
		}
	}
	for _, command := range slices.Collect(maps.Keys(all)) {
		if group, _, ok := strings.Cut(command, " "); ok {
			delete(all, group)
		}
	}
	return all
}
