package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

type outputFlags struct {
	IncludeFullXR            bool `short:"x" name:"include-full-xr" help:"Print the composite resource with all input fields."`
	IncludeConnectionDetails bool `more:"" help:"Print the connection details of the composite resource, which are secrets, as a document of kind ConnectionDetails."`
	printFlags
}

// printFlags are the outputFlags that renders of Operations have, too.
type printFlags struct {
	IncludeFunctionResults bool   `short:"r" help:"Print the results of functions, as documents of kind Result."`
	IncludeContext         bool   `more:"" short:"c" help:"Print the context after the last function, as a document of kind Context."`
	Format                 string `more:"" enum:"yaml,json" default:"yaml" help:"Print ${enum}: JSON has one document a line."`
	OutputDir              string `writes:"rendered/" more:"" xor:"output" placeholder:"DIR" help:"Write one file for each rendered resource into DIR instead of printing."`
	Check                  string `writes:"rendered/" xor:"output" placeholder:"PATH" help:"Compare with PATH, and print the differences. PATH is a file, or a folder of files as --output-dir writes them."`
	Update                 bool   `more:"" help:"Write the files that --check compares with."`
}

// A sink receives the documents of renders.
type sink interface {
	// add handles the documents of one XR. If a document could not be encoded, r.Text has
	// the documents before it.
	add(r session.Result) error
	// finish is called after the last XR. If renders failed, not all documents were
	// added, and complete is false.
	finish(complete bool) error
}

// sink returns the sink that the flags select. It replaces no file that the render reads.
func (f outputFlags) sink(term *terminal.Terminal, many bool, in reads) (sink, error) {
	switch {
	case f.Update && f.Check == "":
		return nil, &terminal.UsageError{Err: errors.New("--update requires --check")}
	case f.Check != "":
		return newChecker(f, term, many, in)
	case f.OutputDir != "":
		if err := flags.CheckDir("output-dir", f.OutputDir); err != nil {
			return nil, err
		}
		return newDirectory(f.OutputDir, f.Format, "output-dir", in)
	default:
		return &printer{term: term}, nil
	}
}

func (f outputFlags) documents(r session.Result) []map[string]any {
	return r.Documents(engine.Include{Results: f.IncludeFunctionResults, Context: f.IncludeContext, ConnectionDetails: f.IncludeConnectionDetails})
}

func (f outputFlags) encode(r session.Result) ([]byte, error) {
	return encode(f.Format, f.documents(r))
}

type output struct {
	flags outputFlags
	term  *terminal.Terminal
	sink  sink
	many  bool
	loop  bool

	total    int
	failed   []error
	warnOnce func(text string)
}

func (o *output) render(ctx context.Context, config session.Config, in session.Inputs, traces *tracer, check *validation) (err error) {
	s := session.Open(config)
	defer func() { err = terminal.Close(ctx, s.Close, err) }()
	in.WrapRunner, in.Encode = traces.wrap(), o.flags.encode
	err = s.Render(ctx, in, func(r session.Result) error {
		traces.add(r)
		check.check(ctx, r)
		return o.add(r)
	})
	if err == nil {
		err = errors.Join(o.finish(), check.verdict())
	} else if in.Operation == "" {
		err = explainOrder(ctx, in, err)
	}
	return terminal.Cause(ctx, errors.Join(err, traces.finish()))
}

// add passes the documents of a result to the sink. If a render of several failed, add
// prints the error and returns nil, with the position of the XR unless the error has a
// position in the XR's file. If the only render failed, it returns the error.
func (o *output) add(r session.Result) error {
	o.total++
	for _, text := range r.Invalid {
		o.warnOnce(text) // XRs share the problems of their XRD.
	}
	if r.Err != nil {
		return o.fail(r, r.Err)
	}
	for _, n := range r.Notes {
		o.term.Note(o.about(r) + n)
	}
	for _, w := range r.Warnings {
		o.term.Warn(o.about(r) + w)
	}
	o.warnResults(r)
	o.notePasses(r)
	err := o.sink.add(r)
	if errors.As(err, new(*xrError)) {
		return o.fail(r, err)
	}
	return err
}

// warnResults prints the warnings of functions, for example about resources that a function did
// not compose, unless the output contains them.
func (o *output) warnResults(r session.Result) {
	if o.flags.IncludeFunctionResults {
		return
	}
	for i, result := range r.Results {
		if text, _ := result["message"].(string); result["severity"] == "Warning" {
			o.term.Warn(o.about(r) + text + manifest.At(r.Places[i]))
		}
	}
}

func (o *output) notePasses(r session.Result) {
	if !o.loop {
		return
	}
	if r.Settled {
		o.term.Note(fmt.Sprintf("%snothing changes after %d passes", o.about(r), r.Passes))
	} else {
		o.term.Warn(fmt.Sprintf("%safter %d passes, these resources still change: %s", o.about(r), r.Passes, strings.Join(r.Changing, ", ")))
	}
	for _, f := range r.Unused {
		o.term.Warn(o.about(r) + "fixture " + f + " was not used")
	}
}

func (o *output) fail(r session.Result, err error) error {
	o.failed = append(o.failed, err)
	if !o.many {
		return err
	}
	if !strings.Contains(err.Error(), r.Document.Path+":") {
		err = fmt.Errorf("%s: %w", r.Source, err)
	}
	o.term.Fault(err)
	return nil
}

// about returns the prefix of messages about an XR, "" if there is only one.
func (o *output) about(r session.Result) string {
	if !o.many {
		return ""
	}
	return r.Source + ": "
}

// finish returns an error if a render failed. The error is fatal if all renders
// failed with a fatal result.
func (o *output) finish() error {
	if err := o.sink.finish(len(o.failed) == 0); err != nil || len(o.failed) == 0 {
		return err
	}
	err := fmt.Errorf("%d of %d composite resources failed", len(o.failed), o.total)
	for _, f := range o.failed {
		if !errors.As(f, new(*engine.FatalError)) {
			return err
		}
	}
	return &allFatal{error: err, fatal: o.failed[0]}
}

// allFatal is the error of several renders that all failed with a fatal result.
type allFatal struct {
	error
	fatal error
}

func (e *allFatal) Unwrap() error { return e.fatal }

// An xrError is an error about one XR, after which other XRs are still handled.
type xrError struct{ error }

func (e *xrError) Unwrap() error { return e.error }

// encode returns documents as text. If a document cannot be encoded, it returns the
// text of the documents before it, and an *xrError.
func encode(format string, docs []map[string]any) ([]byte, error) {
	var b bytes.Buffer
	if format == "yaml" {
		if err := manifest.Write(&b, docs...); err != nil {
			return b.Bytes(), &xrError{err}
		}
		return b.Bytes(), nil
	}
	for _, doc := range docs {
		if err := manifest.WriteJSON(&b, "", doc); err != nil {
			return b.Bytes(), &xrError{fmt.Errorf("encoding a document: %w", err)}
		}
	}
	return b.Bytes(), nil
}

// printer is a sink that prints documents to stdout.
type printer struct {
	term *terminal.Terminal
}

func (p *printer) add(r session.Result) error {
	if _, err := p.term.Stdout.Write(r.Text); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return r.TextErr
}

func (p *printer) finish(bool) error { return nil }

var unfit = proc.Regexp(`[^a-zA-Z0-9._-]+`)

// fileName returns the name of an XR's file. Namespace and name together can be longer than a file name
// on most systems: a longer name is cut, and ends with a digest of the whole.
func fileName(r session.Result, format string) string {
	const maxLength, kept = 255, 200
	name := fmt.Sprint(r.XR["kind"])
	for _, key := range []string{"namespace", "name"} {
		if s := fieldpath.Text(r.XR, "metadata", key); s != "" {
			name += "." + s
		}
	}
	fit := unfit().ReplaceAllString(name, "_")
	if len(fit)+len("."+format) > maxLength {
		sum := sha256.Sum256([]byte(name))
		fit = fit[:kept] + "." + hex.EncodeToString(sum[:8])
	}
	return fit + "." + format
}
