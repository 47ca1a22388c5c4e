package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// traceFlags are what is told of how the output came about.
type traceFlags struct {
	Trace     toFile `placeholder:"FILE" help:"Tell what each step of the pipeline changed, on stderr or in a FILE (--trace=FILE)."`
	TraceHTML string `name:"trace-html" placeholder:"FILE" help:"Write the same as a page for a browser."`
	Blame     toFile `placeholder:"FILE" help:"Tell which step set each field last, on stderr or in a FILE (--blame=FILE)."`
}

// toFile is a flag that may have a file's name as its value.
type toFile struct {
	on   bool
	path string
}

// Decode takes --flag and --flag=FILE.
func (f *toFile) Decode(ctx *kong.DecodeContext) error {
	f.on = true
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		f.path = ctx.Scan.Pop().String()
		if f.path == "" {
			return errors.New("expected the name of a file after =")
		}
	}
	return nil
}

// IsBool says that the flag needs no value.
func (*toFile) IsBool() bool { return true }

// A tracer records the calls of each XR's render, and tells of them when it is
// done.
type tracer struct {
	flags traceFlags
	term  *terminal.Terminal

	recorders report.Recorders
	traces    []report.Trace
}

func (f traceFlags) tracer(term *terminal.Terminal) *tracer {
	return &tracer{flags: f, term: term, recorders: report.Recorders{Now: time.Now}}
}

// wrap is session.Inputs.WrapRunner, or nil if no trace is wanted.
func (t *tracer) wrap() func(int, function.Runner) function.Runner {
	if !t.flags.Trace.on && !t.flags.Blame.on && t.flags.TraceHTML == "" {
		return nil
	}
	return t.recorders.Wrap
}

// add keeps the trace of a result.
func (t *tracer) add(r session.Result) {
	if trace, ok := t.recorders.Trace(r.N, title(r), r.RuntimeOf, r.Err); ok {
		t.traces = append(t.traces, trace)
	}
}

// title names an XR.
func title(r session.Result) string {
	if r.Result == nil {
		return r.Source
	}
	meta, _ := r.XR["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if ns, ok := meta["namespace"].(string); ok {
		name = ns + "/" + name
	}
	return fmt.Sprintf("%v %s", r.XR["kind"], name)
}

// finish writes what was asked for.
func (t *tracer) finish() error {
	if t.flags.TraceHTML != "" {
		err := fsx.Write(t.flags.TraceHTML, 0o644, func(w io.Writer) error { return report.WritePage(w, "xfn render", t.traces) })
		if err != nil {
			return fmt.Errorf("writing the trace: %w", err)
		}
	}
	err := t.write(t.flags.Trace, "trace", func(w io.Writer, colour bool, trace report.Trace) error { return trace.Text(w, colour) })
	return errors.Join(err, t.write(t.flags.Blame, "blame", func(w io.Writer, _ bool, trace report.Trace) error {
		if len(t.traces) > 1 {
			if _, err := fmt.Fprintf(w, "%s\n", trace.XR); err != nil {
				return err
			}
		}
		return report.WriteBlame(w, trace.Blame())
	}))
}

func (t *tracer) write(to toFile, what string, one func(io.Writer, bool, report.Trace) error) error {
	if !to.on {
		return nil
	}
	all := func(w io.Writer, colour bool) error {
		for _, trace := range t.traces {
			if err := one(w, colour, trace); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if to.path == "" {
		err = all(t.term.Stderr(), t.term.Colour(os.Stderr))
	} else {
		err = fsx.Write(to.path, 0o644, func(w io.Writer) error { return all(w, false) })
	}
	if err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	return nil
}
