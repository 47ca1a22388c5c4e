package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// outputFlags are what is printed, and where.
type outputFlags struct {
	IncludeFullXR            bool   `short:"x" name:"include-full-xr" help:"Print the composite resource with all that it had."`
	IncludeFunctionResults   bool   `short:"r" help:"Print what functions reported, as documents of kind Result."`
	IncludeContext           bool   `short:"c" help:"Print the context that functions left, as a document of kind Context."`
	IncludeConnectionDetails bool   `help:"Print the composite resource's connection details, as a document of kind ConnectionDetails. They are secrets."`
	Format                   string `enum:"yaml,json" default:"yaml" help:"Print ${enum}: JSON has one document a line."`
	OutputDir                string `xor:"output" placeholder:"DIR" help:"Write one file for each composite resource into DIR instead of printing."`
	Check                    string `xor:"output" placeholder:"PATH" help:"Compare with what a file holds, or the files of a folder as --output-dir writes them, and print how it differs."`
	Update                   bool   `help:"Write what --check would compare with."`
}

// A sink is where the documents of renders go.
type sink interface {
	// take gets the documents of one XR, in their order.
	take(r session.Result, docs []map[string]any) error
	// finish is called after the last. If some XRs have no documents, since
	// their renders failed, not all is complete.
	finish(complete bool) error
}

// sink returns the one that the flags ask for.
func (f outputFlags) sink(term *terminal.Terminal, many bool) (sink, error) {
	switch {
	case f.Update && f.Check == "":
		return nil, &terminal.UsageError{Err: errors.New("--update goes with --check")}
	case f.Check != "":
		return newChecker(f, term, many)
	case f.OutputDir != "":
		return newDirectory(f.OutputDir, f.Format)
	default:
		return &printer{term: term, format: f.Format}, nil
	}
}

// An output takes results as they come.
type output struct {
	flags outputFlags
	term  *terminal.Terminal
	sink  sink
	many  bool
	loop  bool

	total  int
	failed []error
}

// take hands on a result's documents. A result that failed is told, and does
// not end the others.
func (o *output) take(r session.Result) error {
	o.total++
	if r.Err != nil {
		return o.fail(r, r.Err)
	}
	for _, n := range r.Notes {
		o.term.Note(o.about(r) + n)
	}
	for _, w := range r.Warnings {
		o.term.Warn(o.about(r) + w)
	}
	o.tellPasses(r)
	err := o.sink.take(r, r.Documents(engine.Include{
		Results: o.flags.IncludeFunctionResults, Context: o.flags.IncludeContext, ConnectionDetails: o.flags.IncludeConnectionDetails,
	}))
	var own *xrError
	if errors.As(err, &own) {
		return o.fail(r, err)
	}
	return err
}

// tellPasses says how an observe loop ended.
func (o *output) tellPasses(r session.Result) {
	if !o.loop {
		return
	}
	if r.Settled {
		o.term.Note(fmt.Sprintf("%snothing changes after %d passes", o.about(r), r.Passes))
	} else {
		o.term.Warn(fmt.Sprintf("%safter %d passes these still change: %s", o.about(r), r.Passes, strings.Join(r.Changing, ", ")))
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
	o.term.Fault(fmt.Errorf("%s: %w", r.Source, err))
	return nil
}

// about says which XR a message is about, where there are many.
func (o *output) about(r session.Result) string {
	if !o.many {
		return ""
	}
	return r.Source + ": "
}

// finish returns an error if any result had one: a fatal one if all were fatal.
func (o *output) finish() error {
	if err := o.sink.finish(len(o.failed) == 0); err != nil || len(o.failed) == 0 {
		return err
	}
	err := fmt.Errorf("%d of %d composite resources failed", len(o.failed), o.total)
	for _, f := range o.failed {
		var fe *engine.FatalError
		if !errors.As(f, &fe) {
			return err
		}
	}
	return &allFatal{error: err, fatal: o.failed[0]}
}

// allFatal is an error with a text of its own for results that were all fatal.
type allFatal struct {
	error
	fatal error
}

func (e *allFatal) Unwrap() error { return e.fatal }

// An xrError is one of a single XR's documents, and not of where they go.
type xrError struct{ error }

func (e *xrError) Unwrap() error { return e.error }

// encode returns documents as text. Those before one that its format cannot
// express are returned with an *xrError.
func encode(format string, docs []map[string]any) ([]byte, error) {
	var b bytes.Buffer
	if format == "yaml" {
		if err := manifest.Write(&b, docs...); err != nil {
			return b.Bytes(), &xrError{err}
		}
		return b.Bytes(), nil
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, doc := range docs {
		if err := enc.Encode(doc); err != nil {
			return b.Bytes(), &xrError{fmt.Errorf("encoding a document: %w", err)}
		}
	}
	return b.Bytes(), nil
}

// printer prints.
type printer struct {
	term   *terminal.Terminal
	format string
}

func (p *printer) take(_ session.Result, docs []map[string]any) error {
	text, err := encode(p.format, docs)
	if _, writeErr := p.term.Stdout.Write(text); writeErr != nil {
		return fmt.Errorf("printing the result: %w", writeErr)
	}
	return err
}

func (p *printer) finish(bool) error { return nil }

var unfit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9._-]+`) })

// fileName is that of an XR's file: its kind, namespace and name.
func fileName(r session.Result, format string) string {
	meta, _ := r.XR["metadata"].(map[string]any)
	name := fmt.Sprint(r.XR["kind"])
	for _, key := range []string{"namespace", "name"} {
		if s, _ := meta[key].(string); s != "" {
			name += "." + s
		}
	}
	return unfit().ReplaceAllString(name, "_") + "." + format
}
