package function_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	runner "github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

// served starts the command until the test ends, and returns the address in its note.
func served(t *testing.T, cmd function.ServeCmd) string {
	t.Helper()
	notes, stderr, err := os.Pipe()
	e2e.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- cmd.Run(ctx, terminal.New(os.Stdin, os.Stdout, stderr))
		_ = stderr.Close()
	}()
	line, _ := bufio.NewReader(notes).ReadString('\n')
	t.Cleanup(func() {
		cancel()
		e2e.WantError(t, "an interrupt ends serving without an error", e2e.Receive(t, done), "")
		_ = notes.Close()
	})
	_, address, ok := strings.Cut(strings.TrimSpace(line), " on ")
	if !ok {
		cancel()
		t.Fatalf("the first note is %q", line)
	}
	return address
}

func connect(t *testing.T, target string) runner.Runner {
	t.Helper()
	return e2e.Open(grpc.Dial(target, grpc.Options{}))(t)
}

// TestGoldenOverGRPC compares the served builtins with the answers of the
// original functions. A served builtin behaves like the newest release, which refuses the
// field ttl in three inputs.
func TestGoldenOverGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("it repeats the golden cases of the builtins")
	}
	const golden = "../../../testdata/golden"
	withTTL := []string{"xr-ttl-annotation", "xr-ttl-negative", "xr-ttl-on-parse-fatal"}
	for name, cases := range map[string]string{
		"auto-ready":          "autoready",
		"cel-filter":          "cel-filter",
		"dummy":               "dummy",
		"environment-configs": "environment-configs",
		"extra-resources":     "extra-resources",
		"go-templating":       "go-templating",
		"patch-and-transform": "pt",
		"sequencer":           "sequencer",
		"tag-manager":         "tag-manager",
		"status-transformer":  "status-transformer",
	} {
		t.Run(name, func(t *testing.T) {
			cmd := function.ServeCmd{Name: name, Address: "127.0.0.1:0", Insecure: true}
			cmd.Templates = []gotemplating.Folder{{Dir: functiontest.LinkedFolder(t, golden+"/go-templating-fs", "tpl/linkdir/dir", "tpl/links/linked.yaml")}}
			address := served(t, cmd)
			functiontest.Golden(t, filepath.Join(golden, cases), connect(t, address), withTTL...)
		})
	}
}

// TestGoldenSettings compares served builtins with the answers of the original functions with
// the same flags or the same environment variables.
func TestGoldenSettings(t *testing.T) {
	const golden = "../../../testdata/golden/"
	source, options, wrong := golden+"go-templating-default-source-fs/tpl", "missingkey=error", "nope"
	gates := "CELHealthcheckCustomizations=true"
	cases := map[string]struct {
		reason, cases string
		env           map[string]string
		set           func(*function.ServeCmd)
	}{
		"Source":          {"the flag sets the source", "go-templating-default-source", nil, func(c *function.ServeCmd) { c.DefaultSource = &source }},
		"SourceVariable":  {"the variable sets the source", "go-templating-default-source", map[string]string{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE": source}, func(c *function.ServeCmd) { c.Tag = "v0.12.2" }},
		"SourceBoth":      {"the flag takes precedence over the variable", "go-templating-default-source", map[string]string{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE": wrong}, func(c *function.ServeCmd) { c.DefaultSource = &source }},
		"Options":         {"the flag sets the options", "go-templating-default-options", nil, func(c *function.ServeCmd) { c.DefaultOptions, c.Tag = &options, "main" }},
		"OptionsVariable": {"the variable sets the options", "go-templating-default-options", map[string]string{"FUNCTION_GO_TEMPLATING_DEFAULT_OPTIONS": options}, func(c *function.ServeCmd) { c.Tag = "main" }},
		"FeatureGates":    {"the flag sets feature gates", "auto-ready-cel", nil, func(c *function.ServeCmd) { c.Name, c.FeatureGates = "auto-ready", &gates }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			cmd := function.ServeCmd{Name: "go-templating", Address: "127.0.0.1:0", Insecure: true}
			cmd.Templates = []gotemplating.Folder{{Dir: golden + "go-templating-default-source-fs"}}
			tc.set(&cmd)
			t.Log(tc.reason)
			functiontest.Golden(t, golden+tc.cases, connect(t, served(t, cmd)))
		})
	}
}

// TestServeSettings checks settings that the version or the builtin does not have.
func TestServeSettings(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := map[string]struct {
		reason            string
		env               map[string]string
		set               func(*function.ServeCmd)
		ttl, err, builtin string
	}{
		"TTL":         {"the flag sets the default TTL", nil, func(c *function.ServeCmd) { c.TTL, c.Tag = text("5m"), "main" }, "5m0s", "", "go-templating"},
		"ReadyTTL":    {"the flag sets the default TTL of auto-ready", nil, func(c *function.ServeCmd) { c.TTL, c.Tag = text("5m"), "v0.7.0" }, "5m0s", "", "auto-ready"},
		"BadTTL":      {"a TTL that is not a duration is an error", nil, func(c *function.ServeCmd) { c.TTL = text("soon") }, "", `reading --ttl: setting ttl of function-go-templating: expected a duration such as 5m, got "soon"`, "go-templating"},
		"ReleaseTTL":  {"without a version, a flag that no release has is refused", nil, func(c *function.ServeCmd) { c.TTL = text("5m") }, "", "no release of function-go-templating has --ttl", "go-templating"},
		"ReleaseVar":  {"without a version, a variable that no release has is ignored", map[string]string{"FUNCTION_GO_TEMPLATING_DEFAULT_OPTIONS": "bad"}, func(*function.ServeCmd) {}, "1m0s", "", "go-templating"},
		"OldTTL":      {"a version without the flag does not start", nil, func(c *function.ServeCmd) { c.TTL, c.Tag = text("5m"), "v0.12.2" }, "", "function-go-templating v0.12.2 has no setting ttl", "go-templating"},
		"OldVariable": {"a version without the variable ignores it", map[string]string{"FUNCTION_GO_TEMPLATING_DEFAULT_OPTIONS": "bad"}, func(c *function.ServeCmd) { c.Tag = "v0.12.2" }, "1m0s", "", "go-templating"},
		"OtherFlag":   {"another builtin does not have the flag", nil, func(c *function.ServeCmd) { c.DefaultSource = text("a") }, "", `reading --default-source: function-auto-ready has no setting "default-source"`, "auto-ready"},
		"OtherVar":    {"another builtin ignores the variable", map[string]string{"FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE": "x"}, func(*function.ServeCmd) {}, "1m0s", "", "auto-ready"},
		"Gate":        {"an unknown feature gate is an error", nil, func(c *function.ServeCmd) { c.FeatureGates = text("Nope=true") }, "", "reading --feature-gates: setting feature-gates of function-auto-ready: unrecognized feature gate: Nope", "auto-ready"},
		"Size":        {"a size that is not a number is an error", map[string]string{"FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE": "x"}, func(c *function.ServeCmd) { c.Tag = "main" }, "", `FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE must be between 1 and 2047 MiB, got "x"`, "go-templating"},
		"OldSize":     {"a version without the variable for the size ignores it", map[string]string{"FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE": "x"}, func(c *function.ServeCmd) { c.Tag = "v0.12.2" }, "1m0s", "", "go-templating"},
		"SizeFlag":    {"the flag for the size takes precedence", map[string]string{"FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE": "x"}, func(c *function.ServeCmd) { size := 4; c.MaxMessageSize = &size }, "1m0s", "", "go-templating"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			cmd := function.ServeCmd{Name: tc.builtin, Address: "127.0.0.1:0", Insecure: true}
			tc.set(&cmd)
			if tc.err != "" {
				err := cmd.Run(t.Context(), terminal.New(os.Stdin, os.Stdout, os.Stderr))
				if err == nil || !strings.HasPrefix(err.Error(), tc.err) || !errors.As(err, new(*terminal.UsageError)) {
					t.Errorf("%s: got %v", tc.reason, err)
				}
				return
			}
			e2e.Equal(t, tc.reason, tc.ttl, e2e.Must(connect(t, served(t, cmd)).RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{}))(t).GetMeta().GetTtl().AsDuration().String())
		})
	}
}

// TestServeMessageSize checks the variable for the maximum size of a request.
func TestServeMessageSize(t *testing.T) {
	t.Setenv("FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE", "1")
	cmd := function.ServeCmd{Name: "go-templating", Address: "127.0.0.1:0", Insecure: true}
	cmd.Tag = "main"
	client := connect(t, served(t, cmd))
	large := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("x", 2<<20)}}
	e2e.ErrorHas(t, "a request above the size in the variable is rejected", e2e.Err(client.RunFunction(t.Context(), "f", large)), "accepts at most 1048576")
}

// TestGoldenErrorOverGRPC compares a served builtin with the original function where that
// returns an error instead of a response.
func TestGoldenErrorOverGRPC(t *testing.T) {
	const golden = "../../../testdata/golden/sequencer-grpc-error/deletion-bad-regex"
	address := served(t, function.ServeCmd{Name: "sequencer", Address: "127.0.0.1:0", Insecure: true})
	_, err := connect(t, address).RunFunction(t.Context(), "f", functiontest.Request(t, golden+"/request.yaml"))
	if got := status.Convert(err); got.Code() != codes.Unknown || got.Message() != "cannot compile regex b(: error parsing regexp: missing closing ): `^b($`" {
		t.Errorf("got %v", err)
	}
}

// TestServeManyAtOnce checks that one function serves many concurrent calls.
func TestServeManyAtOnce(t *testing.T) {
	const cases = "../../../testdata/golden/autoready"
	client := connect(t, served(t, function.ServeCmd{Name: "auto-ready", Address: "127.0.0.1:0", Insecure: true}))
	ready := functiontest.Request(t, cases+"/pod-running-ready/request.yaml")
	not := functiontest.Request(t, cases+"/pod-running-notready/request.yaml")
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			req, want := ready, fnv1.Ready_READY_TRUE
			if i%2 == 1 {
				req, want = not, fnv1.Ready_READY_UNSPECIFIED
			}
			rsp, err := client.RunFunction(t.Context(), "f", req)
			if err != nil {
				t.Error(err)
			}
			got := map[string]fnv1.Ready{}
			for name, r := range rsp.GetDesired().GetResources() {
				got[name] = r.GetReady()
			}
			e2e.Equal(t, fmt.Sprintf("call %d returns the readiness of its resource", i), map[string]fnv1.Ready{"it": want}, got)
		})
	}
	e2e.Wait(t, &calls)
}

func TestServeAddresses(t *testing.T) {
	dir := e2e.ShortDir(t)
	socket := "unix://" + filepath.Join(dir, "s")
	cases := map[string]struct{ reason, address, want string }{
		"Port":   {"the note has the port that replaces port 0", "127.0.0.1:0", "127.0.0.1:"},
		"Socket": {"the note has the given path of a socket", socket, socket},
		"Any":    {"an address without a host is every address of this machine", ":0", "[::]:"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			address := served(t, function.ServeCmd{Name: "function-dummy", Address: tc.address, Insecure: true})
			if !strings.HasPrefix(address, tc.want) || strings.HasSuffix(address, ":0") {
				t.Errorf("%s: got %s", tc.reason, address)
			}
			req := functiontest.Request(t, "../../../testdata/golden/dummy/results/request.yaml")
			if rsp, err := connect(t, address).RunFunction(t.Context(), "f", req); err != nil || len(rsp.GetResults()) == 0 {
				t.Errorf("%s: got %v, %v", tc.reason, rsp, err)
			}
		})
	}
}

// TestServeCertificate checks certificates that every client would refuse.
func TestServeCertificate(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	cases := map[string]struct{ reason, dir, want string }{
		"Expired": {"the certificate expired a minute ago", ca.Issue(t, "localhost", -time.Minute, ca), `tls.crt" expired at `},
		"Early":   {"the certificate is valid from tomorrow", ca.IssueFrom(t, "localhost", time.Now().AddDate(0, 0, 1), 48*time.Hour, ca), `tls.crt" is not valid before `},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // A server would end with success.
			cmd := function.ServeCmd{Name: "dummy", Address: "127.0.0.1:0", TLSCertsDir: tc.dir}
			e2e.WantError(t, tc.reason, cmd.Run(ctx, terminal.New(os.Stdin, os.Stdout, os.Stderr)), tc.want)
		})
	}
}

// TestServeOverDeadSocket checks that a socket of a killed process is replaced,
// but neither a socket that is served nor a file.
func TestServeOverDeadSocket(t *testing.T) {
	dir := t.TempDir()
	dead := e2e.Must(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead"), Net: "unix"}))(t)
	dead.SetUnlinkOnClose(false)
	e2e.NoError(t, dead.Close())
	served(t, function.ServeCmd{Name: "dummy", Address: "unix://" + filepath.Join(dir, "dead"), Insecure: true})
	e2e.WriteFile(t, filepath.Join(dir, "file"), "precious")
	for _, name := range []string{"dead", "file"} {
		cmd := function.ServeCmd{Name: "dummy", Address: "unix:" + filepath.Join(dir, name), Insecure: true}
		e2e.ErrorHas(t, name+": a path in use is an error", cmd.Run(t.Context(), terminal.New(os.Stdin, os.Stdout, os.Stderr)), "address already in use")
	}
	e2e.Equal(t, "serving does not change a regular file", "precious", e2e.ReadFile(t, dir, "file"))
}
