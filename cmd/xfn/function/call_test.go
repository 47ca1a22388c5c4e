package function_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/function"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	runner "github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
	"github.com/xfn-dev/xfn/internal/hint"
)

const request = "../../../testdata/golden/autoready/nothing/request.yaml"

// call runs the command with defaults for fields that are not set.
func call(t *testing.T, cmd function.CallCmd) (string, error) {
	t.Helper()
	if cmd.Timeout == 0 {
		cmd.Timeout = time.Minute
	}
	cmd.File, cmd.Format, cmd.MaxMessageSize = request, "yaml", 64
	var out bytes.Buffer
	term := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	term.Stdout = &out
	err := cmd.Run(t.Context(), term)
	return out.String(), err
}

func TestCallByTLS(t *testing.T) {
	ca := functiontest.NewAuthority(t)
	client := ca.Issue(t, "client", time.Hour, ca)
	target := served(t, function.ServeCmd{Name: "auto-ready", Address: "127.0.0.1:0", TLSCertsDir: ca.Issue(t, "function-auto-ready", time.Hour, ca)})
	cases := map[string]struct {
		reason, dir, name, want, hint string
	}{
		"Trusted": {"both sides present a certificate", client, "function-auto-ready", "", ""},
		"Name":    {"a forwarded port is not the name in the certificate", client, "", "cannot validate certificate for 127.0.0.1", ""},
		"Plain":   {"a server with TLS does not answer plaintext", "", "", "nothing answered in gRPC", "if the function is served with TLS, set certificates with --tls-certs-dir"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := call(t, function.CallCmd{Function: target, TLSCertsDir: tc.dir, TLSServerName: tc.name})
			if tc.want == "" {
				if want := "---\ndesired: {}\nmeta:\n  tag: t-1\n  ttl: 60s\n"; err != nil || out != want {
					t.Errorf("%s: got %q, %v, want %q", tc.reason, out, err, want)
				}
				return
			}
			e2e.ErrorHas(t, tc.reason, err, tc.want)
			e2e.Equal(t, tc.reason, tc.hint, string(hint.Of(err)))
		})
	}
}

// --insecure has priority over the folder in TLS_SERVER_CERTS_DIR, as in functions that
// are built with Crossplane's SDK.
func TestInsecureBeatsCertificates(t *testing.T) {
	target := served(t, function.ServeCmd{Name: "auto-ready", Address: "127.0.0.1:0", Insecure: true, TLSCertsDir: "nowhere"})
	if out, err := call(t, function.CallCmd{Function: target}); err != nil {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestCallTakesTooLong(t *testing.T) {
	listener := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- grpc.Serve(ctx, listener, "slow", runner.RunnerFunc(func(ctx context.Context, _ string, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), grpc.ServeOptions{})
	}()
	out, err := call(t, function.CallCmd{Function: listener.Addr().String(), Timeout: 50 * time.Millisecond})
	e2e.ErrorHas(t, "a call that takes too long is an error with the timeout", err, "timed out after 50ms")
	e2e.Equal(t, "a call without a response prints nothing", "", out)
	cancel()
	e2e.NoError(t, e2e.Receive(t, done))
}

// TestCallPrints checks values that JSON and YAML could change.
func TestCallPrints(t *testing.T) {
	cases := map[string]struct{ reason, value, yaml, json string }{
		"Whole":   {"a whole number has no fraction", `1000000`, "v: 1000000", `"v": 1000000`},
		"Large":   {"a large number has no exponent", `1000000000000000`, "v: 1000000000000000", `"v": 1000000000000000`},
		"Huge":    {"a huge number has an exponent", `1e21`, "v: 1e+21", `"v": 1e+21`},
		"Small":   {"a tiny number has an exponent", `0.0000001`, "v: 1e-07", `"v": 1e-7`},
		"Null":    {"a null is kept", `null`, "v: null", `"v": null`},
		"Boolean": {"a string that YAML 1.1 reads as a boolean is quoted", `"on"`, `v: "on"`, `"v": "on"`},
		"Number":  {"a string that YAML reads as a number is quoted", `"1e3"`, `v: "1e3"`, `"v": "1e3"`},
		"HTML":    {"JSON does not escape characters for web pages", `"<a&b>"`, "v: <a&b>", `"v": "<a&b>"`},
		"Unicode": {"text is not changed", `"héé 日本"`, "v: héé 日本", `"v": "héé 日本"`},
		"Empty":   {"empty objects and lists are kept", `[{}, []]`, "v:\n  - {}\n  - []", `"v": [`},
		"Lines":   {"line breaks are kept", `"a\nb\n"`, "v: |\n    a\n    b", `"v": "a\nb\n"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "request.json")
			e2e.WriteFile(t, file, `{"context": {"v": `+tc.value+`}}`)
			for format, want := range map[string]string{"yaml": tc.yaml, "json": tc.json} {
				var out bytes.Buffer
				term := terminal.New(os.Stdin, os.Stdout, os.Stderr)
				term.Stdout = &out
				cmd := function.CallCmd{Function: "auto-ready", File: file, Format: format, Timeout: time.Minute, MaxMessageSize: 1}
				e2e.NoError(t, cmd.Run(t.Context(), term))
				e2e.Has(t, tc.reason, out.String(), want)
			}
		})
	}
}

// full is a writer whose disk has no space left.
type full struct{ io.Writer }

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestPrintingFails(t *testing.T) {
	term := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	term.Stdout = full{}
	cases := map[string]struct {
		run  func() error
		want string
	}{
		"Call": {func() error {
			return (&function.CallCmd{Function: "dummy", File: request, Format: "json", Timeout: time.Minute, MaxMessageSize: 1}).Run(t.Context(), term)
		}, "printing the response: no space left"},
		"List": {func() error { return (&function.ListCmd{Format: terminal.Format{Format: "text"}}).Run(term) }, "printing the result: no space left"},
		"JSON": {func() error { return (&function.ListCmd{Format: terminal.Format{Format: "json"}}).Run(term) }, "printing the result: no space left"},
		"YAML": {func() error { return (&function.ListCmd{Format: terminal.Format{Format: "yaml"}}).Run(term) }, "printing the result: no space left"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, "an error of writing to stdout is returned", tc.want, fmt.Sprint(tc.run()))
		})
	}
}
