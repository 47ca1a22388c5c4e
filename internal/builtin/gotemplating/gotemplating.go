package gotemplating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Options configure which files a template may read.
type Options struct {
	// Dir is the folder from which the source FileSystem reads. The default is
	// the working directory.
	Dir string
	// Templates are further folders. They are searched in order, after Dir.
	Templates []Folder
	// Source is the folder with the template of an input that has no source. It may be
	// outside of the other folders. It takes precedence over Settings.DefaultSource.
	Source string
	// Read, if not nil, is called with the path and the text of each file that a template has,
	// from several goroutines.
	Read func(path, text string)
	// Search, if not nil, is called with each path below Dir and Templates at which the function
	// looks for a file or folder, even if nothing is there. It is called from several goroutines.
	Search func(path string)
	// Version is the version of the real function to imitate: a release such as
	// v0.12.2, or main for its main branch. The default is the newest release.
	Version string
	// Progress receives warnings about documents with an unexpected effect.
	Progress progress.Func
	Settings
}

// Settings are settings of the real function's process.
type Settings struct {
	// DefaultSource is the path of the template of an input that has no source. It is read
	// like the path in an input with the source FileSystem. Empty means that an input must
	// have a source.
	DefaultSource string
	// AnyFolder lets DefaultSource be outside of Dir and Templates. A relative path is then
	// relative to the working directory.
	AnyFolder bool
	// DefaultOptions are the options of an input that does not set options.
	DefaultOptions []string
	// TTL is the time to live of responses. If it is nil, it is sdk.TTL.
	TTL *time.Duration
}

// A Folder is a folder with templates.
type Folder struct {
	Dir string
	// At, if not empty, is the path of the folder in inputs: an absolute path with slashes, such as the
	// path of a volume in the real function's container.
	At string
}

// UnmarshalText reads the form DIR or AT=DIR. DIR must not be empty.
func (f *Folder) UnmarshalText(text []byte) error {
	f.Dir = string(text)
	if at, dir, ok := strings.Cut(f.Dir, "="); ok && path.IsAbs(at) {
		f.At, f.Dir = at, dir
	}
	if f.Dir == "" {
		return errors.New("the path of the folder is empty")
	}
	return nil
}

// New returns the function. It reads only files in the folders of o, opens no
// network connection, and caches parsed templates. It implements sdk.Locator.
//
// RunFunction returns an error only if its context is done, and then immediately.
// The template then runs in the background until it begins a loop iteration or a
// template, or writes output. Until then it reads the request.
func New(o Options) function.Runner {
	return &runner{Options: o, folders: append([]Folder{{Dir: cmp.Or(o.Dir, ".")}}, o.Templates...), unreleased: sdk.Since(o.Version, newest, Unreleased)}
}

type runner struct {
	Options
	folders    []Folder
	unreleased bool // the imitated version is Unreleased or later
	programs   proc.Memo[programKey, *program]
	// places are the places of errors, by the texts of the errors and the inputs.
	places proc.Memo[placeKey, place]
	// covered are the points of programs.
	covered proc.Memo[pointsKey, []sdk.Point]
	// warned are the texts of warnings, each of which is sent once.
	warned proc.Memo[string, bool]
}

// RunFunction implements function.Runner.
func (r *runner) RunFunction(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	type outcome struct {
		rsp *fnv1.RunFunctionResponse
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer proc.EnterStep(ctx, function.Step(ctx))()
		rsp := sdk.To(req)
		if r.TTL != nil {
			rsp.Meta.Ttl = durationpb.New(*r.TTL)
		}
		done <- outcome{rsp, r.answer(ctx, req, rsp)}
	}()
	select { // proc.Await would wait as long as the render does, whose error does not name the step.
	case o := <-done:
		switch {
		case o.err == nil:
			return o.rsp, nil
		case ctx.Err() == nil:
			return sdk.Fatal(o.rsp, message(o.err)), nil
		}
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("executing the template: %w", context.Cause(ctx))
}

// answer sets the fields of rsp. After an error, rsp has the effects of the steps
// that succeeded before the error.
func (r *runner) answer(ctx context.Context, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) (err error) {
	defer func() {
		// A library function may panic for a value of the template.
		if reason := recover(); reason != nil {
			err = fmt.Errorf("cannot execute template: %v", reason)
		}
	}()
	in, err := r.decode(req.GetInput(), rsp)
	if err != nil {
		return fmt.Errorf("cannot get Function input from *v1.RunFunctionRequest: %w", err)
	}
	parts, err := r.parts(ctx, in, req.GetContext())
	if err != nil {
		return fmt.Errorf("invalid function input: %w", err)
	}
	for _, one := range parts {
		if r.Read != nil && one.at.File != "" {
			r.Read(one.at.File, one.text)
		}
	}
	if in.Options == nil {
		in.Options = r.DefaultOptions
	}
	key := newProgramKey(parts.text(), in, r.unreleased)
	coverage := sdk.CoverageOf(ctx)
	key.covered = coverage != nil
	program, err := r.program(key, in.Options)
	if err != nil {
		return err
	}
	data, err := templateData(req)
	if err != nil {
		return fmt.Errorf("cannot convert request to map: %w", err)
	}
	out, execution, err := program.execute(ctx, data)
	if coverage != nil {
		points := r.points(key, parts, program)
		coverage.Known(points)
		for i := range execution.ran {
			coverage.Hit(points[i])
		}
	}
	if err != nil {
		err = fmt.Errorf("cannot execute template: %w", err)
		r.rememberMissing(err, req, data)
		return err
	}
	documents, err := readDocuments(ctx, out)
	if err == nil {
		r.annotated(req, rsp)
		made := written{key, in.Options, req, out, parts}
		composition.SetOrigins(ctx, made.origins(ctx, documents))
		r.warn(ctx, append(mistakes(req, documents), doubleKeys(out)...), made)
		err = apply(req, rsp, documents)
	}
	if err != nil {
		r.remember(ctx, err, key, in.Options, req, out)
	}
	return err
}

// maxKept is the maximum size in bytes of a template that is cached. A parsed
// template needs forty times the memory of its text.
const maxKept = 64 << 10

func (r *runner) program(key programKey, options []string) (*program, error) {
	if len(key.text) > maxKept {
		return compile(key, options)
	}
	return r.programs.Do(key, func() (*program, error) { return compile(key, options) })
}

// maxMessage is the maximum size in bytes of the message of a result. Each nested
// include adds about a hundred bytes to an error, and there may be 1001 of them.
const maxMessage = 512 << 10

// message returns err with a text that a protobuf message can contain: of limited
// length and in valid UTF-8.
func message(err error) error {
	return errors.New(strings.ToValidUTF8(clip(err.Error()), "\uFFFD"))
}

func clip(text string) string {
	if len(text) > maxMessage {
		return text[:maxMessage] + "..."
	}
	return text
}
