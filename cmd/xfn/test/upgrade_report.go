package test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
)

// An upgrade is the output of xfn upgrade-check --format json.
type upgrade struct {
	// Causes are the versions that differ.
	Causes []string `json:"causes"`
	// Renders is the number of cases or composite resources. Differ is the number of cases or
	// composite resources for which the versions compose different resources.
	Renders int `json:"renders"`
	Differ  int `json:"differ"`
	// Failed is the number of renders that fail in the same way with both versions.
	Failed int `json:"failed"`
	// Changes are the differences of composed resources. Equal ones are grouped.
	Changes []report.ChangeGroup `json:"changes"`
	// Failures are renders that fail with a version.
	Failures []upgradeFailure `json:"failures"`

	groups report.Grouper
	// called are the names of the functions that a render called.
	mu     sync.Mutex
	called map[string]bool
}

// recorded returns a value for session.Config.Wrap that adds each call to u.called. next may be nil.
func (u *upgrade) recorded(next func(function.Runner) function.Runner) func(function.Runner) function.Runner {
	return func(r function.Runner) function.Runner {
		if next != nil {
			r = next(r)
		}
		return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
			u.mu.Lock()
			u.called[name] = true
			u.mu.Unlock()
			return r.RunFunction(ctx, name, req)
		})
	}
}

type upgradeFailure struct {
	Render string `json:"render"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// causes adds the files and the locked versions that changed between a commit and the working
// directory.
func (u *upgrade) causes(r revision, rev string) {
	for _, path := range r.changed {
		u.Causes = append(u.Causes, fmt.Sprintf("%s: changed since %s", path, rev))
	}
	if r.before == nil {
		return
	}
	changes := lock.Compare(r.before, r.after)
	for _, i := range changes.Updated {
		u.Causes = append(u.Causes, fmt.Sprintf("%s@%s: was %s@%s", i.Reference, i.Digest, i.Was.Reference, i.Was.Digest))
	}
	for _, i := range changes.Added {
		u.Causes = append(u.Causes, fmt.Sprintf("%s@%s: added to the lock file", i.Reference, i.Digest))
	}
	for _, i := range changes.Removed {
		u.Causes = append(u.Causes, fmt.Sprintf("%s@%s: removed from the lock file", i.Reference, i.Digest))
	}
}

func (u *upgrade) add(render string, diffs []report.DocDiff, before, after string) error {
	u.Renders++
	if len(diffs) > 0 || before != after {
		u.Differ++
	}
	if before == after && before != "" {
		u.Failed++
	}
	if before+after != "" {
		u.Failures = append(u.Failures, upgradeFailure{render, before, after})
	}
	return u.groups.Add(render, diffs)
}

func (u *upgrade) print(term *terminal.Terminal, format string) (err error) {
	u.Changes = append([]report.ChangeGroup{}, u.groups.Groups...)
	u.Failures = append([]upgradeFailure{}, u.Failures...)
	switch format {
	case "json":
		err = manifest.WriteJSON(term.Stdout, "  ", u)
	case "markdown":
		_, err = io.WriteString(term.Stdout, u.markdown())
	default:
		err = u.text(term.Stdout, term.Style(term.Stdout))
	}
	return terminal.Wrap(err, "printing the result")
}

func (u *upgrade) summary() string {
	text := fmt.Sprintf("%s: %d differ, %d do not", terminal.Count(u.Renders, "render"), u.Differ, u.Renders-u.Differ-u.Failed)
	if u.Failed > 0 {
		text += fmt.Sprintf(", %d fail with both versions", u.Failed)
	}
	return text
}

func (u *upgrade) text(w io.Writer, style report.Style) error {
	var b strings.Builder
	for _, cause := range u.Causes {
		fmt.Fprintln(&b, terminal.Printable(cause))
	}
	for _, g := range u.Changes {
		fmt.Fprintln(&b)
		if err := report.WriteChanges(&b, []report.DocDiff{g.DocDiff}, style); err != nil {
			return err
		}
		fmt.Fprintf(&b, "    in %s\n", terminal.Printable(strings.Join(g.Renders, ", ")))
	}
	for _, f := range u.Failures {
		fmt.Fprintf(&b, "\n%s %s\n", terminal.Printable(f.Render), terminal.Printable(f.verdict()))
	}
	if b.Len() > 0 {
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, u.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (f upgradeFailure) verdict() string {
	switch {
	case f.Before == f.After:
		return "fails with both versions: " + f.After
	case f.Before == "":
		return "fails now: " + f.After
	case f.After == "":
		return "fails no longer: " + f.Before
	default:
		return fmt.Sprintf("fails in another way: %s; before: %s", f.After, f.Before)
	}
}

// markdown returns the report for a comment of a pull request.
func (u *upgrade) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### What would be composed: %s\n", u.summary())
	if len(u.Causes) > 0 {
		fmt.Fprintln(&b)
	}
	for _, cause := range u.Causes {
		fmt.Fprintf(&b, "- %s\n", code(cause))
	}
	for _, g := range u.Changes {
		fmt.Fprintf(&b, "\n%s %s in %s: %s\n", code(g.Title()), g.Op, terminal.Count(len(g.Renders), "render"), codes(g.Renders))
		var fields strings.Builder
		// A strings.Builder never fails.
		_ = report.WriteFields(&fields, g.Changes, report.Style{})
		fence := strings.Repeat("`", max(3, longest(fields.String())+1))
		fmt.Fprintf(&b, "\n%sdiff\n%s%s\n", fence, unindent(fields.String()), fence)
	}
	for _, f := range u.Failures {
		fmt.Fprintf(&b, "\n%s %s\n", code(f.Render), code(f.verdict()))
	}
	return b.String()
}

// unindent removes the indentation of two columns, because + and - at the start of a line have
// colors in Markdown.
func unindent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n  ", "\n"), "\n")
}

func code(text string) string {
	text = strings.ReplaceAll(terminal.Printable(text), "\n", " ")
	fence := strings.Repeat("`", longest(text)+1)
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + text + fence
}

func codes(all []string) string {
	var out []string
	for _, s := range all {
		out = append(out, code(s))
	}
	return strings.Join(out, ", ")
}

func longest(text string) int {
	most, n := 0, 0
	for _, r := range text {
		if r != '`' {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}
