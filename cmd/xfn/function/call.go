package function

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// CallCmd calls a function with one request.
type CallCmd struct {
	Function string `arg:"" name:"name|target" help:"Name of a builtin, where the prefix function- is optional, or the address of a served function: HOST:PORT, unix:///PATH or another gRPC target."`

	File              string   `once:"" short:"f" required:"" placeholder:"FILE" help:"RunFunctionRequest in YAML or JSON, or - for stdin."`
	Format            string   `enum:"yaml,json" default:"yaml" help:"Print ${enum}."`
	RequiredResources []string `short:"e" sep:"none" placeholder:"PATH" help:"Resources that the function may require. A file or folder. Repeatable. The function is called until its requirements do not change."`

	Timeout        time.Duration `positive:"" default:"1m" help:"Timeout of the call."`
	MaxMessageSize int           `limits:"1 2047 MiB" default:"64" placeholder:"MIB" help:"Maximum size of a target's response, in MiB."`
	TLSCertsDir    string        `name:"tls-certs-dir" placeholder:"DIR" help:"Call a target with mutual TLS: a folder with tls.crt, tls.key, and ca.crt for the function's certificate. Default: plaintext."`
	TLSServerName  string        `name:"tls-server-name" placeholder:"HOST" help:"Host name in the function's certificate. Default: the target's host."`
	builtinFlags
}

// Help is shown by --help.
func (CallCmd) Help() string {
	return `The request is a RunFunctionRequest in the JSON mapping of protobuf, as YAML or JSON; an unknown field is an error. The response is printed in the same mapping, with sorted keys.

Examples:

    xfn function call patch-and-transform -f request.yaml
    xfn function call localhost:9443 -f - --format json <request.json
    xfn function call environment-configs -f request.yaml -e environments/

Exit codes: 0 success, 1 the call failed, 2 invalid usage, 3 the function returned a fatal result, which is printed as well.
`
}

// Run calls the function and prints the response.
func (c *CallCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	if err := c.check(); err != nil {
		return &terminal.UsageError{Err: err}
	}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	reader := manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin, Warn: term.WarnOnce()}
	req, err := proc.Await(ctx, func() (*fnv1.RunFunctionRequest, error) { return readRequest(ctx, reader, c.File) })
	if err != nil {
		return err
	}
	required, err := proc.Await(ctx, func() (reconciler.Store, error) {
		return session.Objects(ctx, reader, "required resources", c.RequiredResources)
	})
	if err != nil {
		return err
	}
	rsp, advice, text, err := c.answer(ctx, term, req, required)
	if err != nil {
		return err
	}
	if _, err := term.Stdout.Write(text); err != nil {
		return fmt.Errorf("printing the response: %w", err)
	}
	return c.fatal(rsp, advice, req)
}

// answer calls the function, and returns the response, a hint about required resources that do
// not exist, and the encoded response. It encodes within proc.Await, because this step does not
// stop when ctx is done.
func (c *CallCmd) answer(ctx context.Context, term *terminal.Terminal, req *fnv1.RunFunctionRequest, required reconciler.Store) (rsp *fnv1.RunFunctionResponse, advice hint.Hint, text []byte, err error) {
	call := func(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) { return c.call(ctx, term, req) }
	if len(c.RequiredResources) == 0 {
		rsp, err = call(req)
	} else if err = required.Check(); err == nil {
		rsp, advice, err = reconciler.Requirements{
			Dynamic: required.Exact, SkipSame: true,
			Schema: func(*fnv1.SchemaSelector) *fnv1.Schema { return &fnv1.Schema{} },
		}.Satisfy(req, call)
	}
	if err != nil {
		return nil, "", nil, terminal.Cause(ctx, err)
	}
	text, err = proc.Await(ctx, func() ([]byte, error) { return encode(c.Format, rsp) })
	return rsp, advice, text, err
}

func (c *CallCmd) check() error {
	switch {
	case c.TLSServerName != "" && c.TLSCertsDir == "":
		return errors.New("--tls-server-name requires --tls-certs-dir")
	case c.TLSCertsDir != "" && !c.remote():
		return fmt.Errorf("--tls-certs-dir requires a target, but %q has neither a port nor a scheme", c.Function)
	default:
		return flags.CheckStdin(append([]string{c.File}, c.RequiredResources...)...)
	}
}

// remote reports whether the function is a gRPC target. A target has a colon,
// and the name of a builtin has none.
func (c *CallCmd) remote() bool { return strings.Contains(c.Function, ":") }

func (c *CallCmd) call(ctx context.Context, term *terminal.Terminal, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.remote() {
		return c.callTarget(ctx, req)
	}
	b, err := find(c.Function)
	if err != nil {
		return nil, hint.Wrap(err, cmp.Or(hint.Of(err), "a target has a port or a scheme, such as localhost:9443"))
	}
	return proc.Await(ctx, func() (*fnv1.RunFunctionResponse, error) {
		return b.New(c.builtinFlags.options(term)).RunFunction(ctx, b.Name, req)
	})
}

func (c *CallCmd) callTarget(ctx context.Context, req *fnv1.RunFunctionRequest) (_ *fnv1.RunFunctionResponse, err error) {
	opts := grpc.Options{MaxMessageSize: c.MaxMessageSize << 20, ServerName: c.TLSServerName}
	if c.TLSCertsDir != "" {
		if opts.Certificates, err = grpc.LoadCertificates(c.TLSCertsDir); err != nil {
			return nil, err
		}
	}
	client, err := grpc.Dial(c.Function, opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := client.Connect(ctx); errors.Is(err, grpc.ErrSilent) && opts.Certificates == nil {
		return nil, hint.Wrap(err, "if the function is served with TLS, set certificates with --tls-certs-dir")
	} else if err != nil && strings.Contains(err.Error(), ": dial ") { // Nothing listens at the target.
		return nil, hint.Wrap(err, cmp.Or(hint.Of(err), "start the function first, as in xfn function serve NAME, xfn run PACKAGE, or the program with --insecure; or name a builtin, which needs no server"))
	} else if err != nil {
		return nil, err
	}
	return client.RunFunction(ctx, c.Function, req)
}

// encode returns a response as YAML or JSON, in the JSON mapping of protobuf.
func encode(format string, rsp *fnv1.RunFunctionResponse) ([]byte, error) {
	j, err := protojson.Marshal(rsp)
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	if err := json.Unmarshal(j, &obj); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if format == "yaml" {
		err = manifest.Write(&text, obj)
		return text.Bytes(), err
	}
	err = manifest.WriteJSON(&text, "  ", obj)
	return text.Bytes(), err
}

// fatal returns the first fatal result as an error. Its hint is the builtin's Advice, or else advice.
func (c *CallCmd) fatal(rsp *fnv1.RunFunctionResponse, advice hint.Hint, req *fnv1.RunFunctionRequest) error {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
			continue
		}
		err := error(&fatalError{engine.FatalError{Step: c.Function, Message: r.GetMessage()}})
		b, findErr := find(c.Function)
		input, inputErr := req.GetInput().MarshalJSON()
		if findErr == nil && inputErr == nil {
			advice = cmp.Or(b.Advice(r.GetMessage(), input), advice)
		}
		if advice != "" {
			return hint.Wrap(err, advice)
		}
		return err
	}
	return nil
}

// A fatalError is a fatal result of a function that was called without a pipeline.
type fatalError struct{ cause engine.FatalError }

func (e *fatalError) Error() string {
	return fmt.Sprintf("function %q returned a fatal result: %s", e.cause.Step, e.cause.Message)
}

func (e *fatalError) Unwrap() error { return &e.cause }

// readRequest reads a request in YAML or JSON. An unknown field is an error.
func readRequest(ctx context.Context, r manifest.Reader, path string) (*fnv1.RunFunctionRequest, error) {
	doc, more, err := r.First(ctx, path)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, &manifest.Error{Path: path, Err: errors.New("it contains several documents, expected one request")}
	}
	req := &fnv1.RunFunctionRequest{}
	if isJSON(doc.Text) && protojson.Unmarshal(doc.Text, req) == nil {
		return req, nil
	}
	j, err := doc.StrictJSON()
	if err != nil {
		return nil, err
	}
	proto.Reset(req)
	if err := protojson.Unmarshal(j, req); err != nil {
		var other struct{ APIVersion, Kind string }
		if json.Unmarshal(j, &other) == nil && other.APIVersion != "" && other.Kind != "" {
			err := fmt.Errorf("expected a RunFunctionRequest, got %s of %s", other.Kind, other.APIVersion)
			return nil, hint.Wrap(&manifest.Error{Path: doc.Path, Line: doc.FirstLine(), Err: err},
				"a request has the fields observed, desired, input and context; it has no apiVersion and no kind; an XR belongs in observed.composite.resource")
		}
		return nil, fieldError(doc, j, err)
	}
	return req, nil
}

// isJSON reports whether a text may be JSON, which is decoded ten times as fast as YAML.
// Text that is not valid JSON is decoded as YAML, which reports the error.
func isJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

// fieldError converts an error of protojson about j, one line of JSON, to an error that
// names the field and the line of the document. protojson reports a column, in
// characters from 1: "proto: (line 1:7): unknown field".
func fieldError(doc manifest.Document, j []byte, err error) error {
	_, place, _ := strings.Cut(err.Error(), "(line 1:")
	number, text, _ := strings.Cut(place, "): ")
	column, numberErr := strconv.Atoi(number)
	if numberErr != nil {
		_, text, _ = strings.Cut(err.Error(), ":")
		return &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New(strings.Trim(text, " \u00a0"))}
	}
	line := []rune(string(j))
	offset := len(string(line[:min(max(column-1, 0), len(line))]))
	field, _ := search(json.NewDecoder(bytes.NewReader(j)), int64(offset), "")
	if field != "" {
		text = fmt.Sprintf("%s: %s", field, text)
	}
	return doc.ErrorOf(field, errors.New(text))
}

// search reads one JSON value from dec, whose path is field. It returns the path of the
// innermost field at the byte offset of the input, such as "desired.resources.a" or
// "results[0]". ok is false if the value ends before offset.
func search(dec *json.Decoder, offset int64, field string) (found string, ok bool) {
	token, err := dec.Token()
	if err != nil || dec.InputOffset() > offset {
		return field, true
	}
	if token != json.Delim('{') && token != json.Delim('[') {
		return "", false
	}
	for i := 0; dec.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", field, i)
		if token == json.Delim('{') {
			key, err := dec.Token()
			inner = strings.TrimPrefix(fmt.Sprintf("%s.%v", field, key), ".")
			if err != nil || dec.InputOffset() > offset {
				return inner, true
			}
		}
		if found, ok := search(dec, offset, inner); ok {
			return found, true
		}
	}
	_, err = dec.Token() // Read the end of the object or list.
	return "", err != nil
}
