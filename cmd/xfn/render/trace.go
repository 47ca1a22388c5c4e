package render

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

type traceFlags struct {
	Trace     flags.Optional `writes:"trace.txt" placeholder:"FILE" help:"Write what each step changed to stderr. --trace=FILE writes to a file."`
	TraceHTML string         `writes:"trace.html" more:"" name:"trace-html" placeholder:"FILE" help:"Write what each step of the pipeline changed as an HTML page."`
	Blame     flags.Optional `writes:"blame.txt" more:"" placeholder:"FILE" help:"Write which step set each field last, to stderr or to a FILE (--blame=FILE)."`
}

// A tracer records the calls of each XR's render, and writes reports at the end.
type tracer struct {
	flags     traceFlags
	term      *terminal.Terminal
	recorders report.Recorders
	traces    []report.Trace
}

func (f traceFlags) tracer(term *terminal.Terminal) *tracer {
	return &tracer{flags: f, term: term, recorders: report.Recorders{Now: time.Now}}
}

// wrap returns a value for session.Inputs.WrapRunner, nil without trace flags.
func (t *tracer) wrap() func(int, function.Runner) function.Runner {
	if !t.flags.Trace.On && !t.flags.Blame.On && t.flags.TraceHTML == "" {
		return nil
	}
	return t.recorders.Wrap
}

func (t *tracer) add(r session.Result) {
	if trace, ok := t.recorders.Trace(r.N, title(r), r.RuntimeOf, r.Err); ok {
		t.traces = append(t.traces, trace)
	}
}

func title(r session.Result) string {
	if r.LastPass == nil {
		return r.Source
	}
	return named(fmt.Sprint(r.XR["kind"]), fieldpath.Text(r.XR, "metadata", "namespace"), fieldpath.Text(r.XR, "metadata", "name"))
}

func (t *tracer) finish() error {
	if t.flags.TraceHTML != "" {
		err := terminal.WriteFile(t.flags.TraceHTML, func(w io.Writer) error { return report.WritePage(w, "xfn render", t.traces) })
		if err != nil {
			return err
		}
	}
	err := t.write(t.flags.Trace, "trace", func(w io.Writer, s report.Style, trace report.Trace) error { return trace.Text(w, s) })
	return errors.Join(err, t.write(t.flags.Blame, "blame", func(w io.Writer, s report.Style, trace report.Trace) error {
		if len(t.traces) > 1 {
			if _, err := fmt.Fprintf(w, "%s\n", trace.XR); err != nil {
				return err
			}
		}
		return report.WriteBlame(w, trace.Blame(), s.Columns)
	}))
}

func (t *tracer) write(to flags.Optional, what string, one func(io.Writer, report.Style, report.Trace) error) error {
	if !to.On {
		return nil
	}
	all := func(w io.Writer, s report.Style) error {
		for _, trace := range t.traces {
			if err := one(w, s, trace); err != nil {
				return err
			}
		}
		return nil
	}
	if to.Value == "" {
		return terminal.Wrap(all(t.term.Stderr(), t.term.Style(t.term.Stderr())), "printing the %s", what)
	}
	return terminal.WriteFile(to.Value, func(w io.Writer) error { return all(w, report.Style{}) })
}
