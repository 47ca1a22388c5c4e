package intercept

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

// MaxRecordingSize is the maximum size of the file of a recorded call: 256 MiB.
const MaxRecordingSize = 256 << 20

// A call is the content of the file of a recorded call. Its messages are in
// protobuf's JSON form.
type call struct {
	Function string          `json:"function"`
	Step     string          `json:"step"`
	Request  map[string]any  `json:"request"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Record returns a Runner that passes calls to r and writes each call to a file
// below dir: FUNCTION/STEP.HASH.json, where HASH is a hash of the request as
// Mask returns it. A call whose context is done is not recorded. If the file
// cannot be written, the call fails. Recordings contain no credentials. They
// contain all other input and output of functions, such as connection details.
func Record(dir string, r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		c, file, err := newCall(ctx, name, req)
		if err != nil {
			return nil, err
		}
		rsp, err := r.RunFunction(ctx, name, req)
		if ctx.Err() != nil {
			return rsp, err
		}
		if writeErr := c.write(filepath.Join(dir, file), rsp, err); writeErr != nil {
			return nil, fmt.Errorf("recording the call of function %q: %w", name, writeErr)
		}
		return rsp, err
	})
}

func newCall(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (c call, file string, err error) {
	c = call{Function: name, Step: function.Step(ctx)}
	if c.Request, err = Mask(req); err != nil {
		return c, "", err
	}
	text, err := json.Marshal(c.Request)
	if err != nil {
		return c, "", fmt.Errorf("encoding the request: %w", err)
	}
	sum := sha256.Sum256(text)
	return c, filepath.Join(fileName(name), fileName(c.Step)+"."+hex.EncodeToString(sum[:8])+".json"), nil
}

var unfit = proc.Regexp(`[^a-zA-Z0-9_-]+`)

// fileName converts the name of a function or step to a valid file name. If it replaces
// characters or cuts the name, it adds a digest, so that different names have different files.
func fileName(name string) string {
	const longest = 100
	fit := unfit().ReplaceAllString(name, "_")
	if fit == name && len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return fit[:min(len(fit), longest)] + "_" + hex.EncodeToString(sum[:4])
}

func (c call) write(path string, rsp *fnv1.RunFunctionResponse, err error) error {
	if err != nil {
		c.Error = err.Error()
	} else {
		// The output of protojson varies between builds, so its values are encoded again.
		answer, err := values(rsp)
		if err == nil {
			c.Response, err = json.Marshal(answer)
		}
		if err != nil {
			return fmt.Errorf("encoding the response: %w", err)
		}
	}
	var text bytes.Buffer
	if err := manifest.WriteJSON(&text, "  ", c); err != nil {
		return fmt.Errorf("encoding the call: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("making folder %q: %w", filepath.Dir(path), fsx.Cause(err))
	}
	return fsx.WriteFile(path, 0o600, text.Bytes())
}

// A MissError reports that a recording does not contain a call.
type MissError struct {
	Dir, Function, Step string
	// Now is the request as Mask returns it. Recorded is the most similar recorded
	// request of the same function and step, or nil.
	Now, Recorded map[string]any
}

// Error implements error.
func (e *MissError) Error() string {
	if e.Recorded == nil {
		return fmt.Sprintf("no call of function %q at step %q is in recording %q", e.Function, e.Step, e.Dir)
	}
	return fmt.Sprintf("function %q at step %q is called with a request that differs from recording %q", e.Function, e.Step, e.Dir)
}

// Replay returns a Runner that responds with the responses in the recording in
// dir. It finds a call by its function, its step, and its request as Mask
// returns it. A call that was not recorded returns a *MissError.
func Replay(dir string) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		now, file, err := newCall(ctx, name, req)
		if err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("opening recording %q: %w", dir, fsx.Cause(err))
		}
		defer root.Close()
		was, err := readCall(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, now.miss(dir, root, file)
		}
		if err != nil {
			return nil, fmt.Errorf("reading recording %q: %w", dir, err)
		}
		rsp, err := was.answer(req)
		if err != nil {
			return nil, fmt.Errorf("calling function %q: %w", name, err)
		}
		return rsp, nil
	})
}

func (c call) answer(req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if c.Response == nil {
		return nil, errors.New(c.Error)
	}
	rsp := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(c.Response, rsp); err != nil {
		return nil, fmt.Errorf("decoding the recorded response: %w", err)
	}
	if rsp.GetMeta().GetTag() != "" {
		rsp.Meta.Tag = req.GetMeta().GetTag()
	}
	return rsp, nil
}

func readCall(root *os.Root, file string) (c call, err error) {
	var text []byte
	f, err := root.Open(file)
	if err == nil {
		defer f.Close()
		text, err = fsx.ReadAll(f, MaxRecordingSize)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", file, fsx.Cause(err))
	}
	return parseCall(file, text)
}

// parseCall parses the file of a recorded call, which must contain a response or an error.
func parseCall(file string, text []byte) (c call, err error) {
	if err = json.Unmarshal(text, &c); err == nil && c.Response == nil && c.Error == "" {
		err = errors.New("expected a response or an error")
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// mostNear limits the number of recorded calls among which the most similar one
// is searched.
const mostNear = 100

func (c call) miss(dir string, root *os.Root, file string) error {
	e := &MissError{Dir: dir, Function: c.Function, Step: c.Step, Now: c.Request}
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(filepath.Dir(file)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading recording %q: %w", dir, err)
	}
	most := -1
	for _, entry := range entries[:min(len(entries), mostNear)] {
		if !strings.HasPrefix(entry.Name(), fileName(c.Step)+".") {
			continue
		}
		was, err := readCall(root, filepath.Join(filepath.Dir(file), entry.Name()))
		if err != nil || was.Function != c.Function || was.Step != c.Step {
			continue
		}
		if n := alike(was.Request, c.Request); n > most {
			most, e.Recorded = n, was.Request
		}
	}
	return e
}

// alike returns the number of equal leaf values in two JSON values.
func alike(a, b any) (n int) {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		for k, v := range a {
			if other, ok := b[k]; ok {
				n += alike(v, other)
			}
		}
	case []any:
		b, _ := b.([]any)
		for i := range min(len(a), len(b)) {
			n += alike(a[i], b[i])
		}
	default:
		if reflect.TypeOf(a) == reflect.TypeOf(b) && a == b {
			return 1
		}
	}
	return n
}

const masked = "masked"

// Mask returns a request as JSON values, without values that vary between equal
// renders or are secret. It replaces with "masked" the tag, which is a hash of
// the request, the time at which the XR became responsive, and credentials.
func Mask(req *fnv1.RunFunctionRequest) (map[string]any, error) {
	req = proto.CloneOf(req)
	if req.GetMeta().GetTag() != "" {
		req.Meta.Tag = masked
	}
	for _, c := range req.GetCredentials() {
		for key := range c.GetCredentialData().GetData() {
			c.GetCredentialData().Data[key] = []byte(masked)
		}
	}
	m, err := values(req)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	for _, c := range fieldpath.List(m, "observed", "composite", "resource", "status", "conditions") {
		if c, ok := c.(map[string]any); ok && c["type"] == "Responsive" {
			c["lastTransitionTime"] = masked
		}
	}
	return m, nil
}

func values(m proto.Message) (map[string]any, error) {
	b, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	return v, json.Unmarshal(b, &v)
}
