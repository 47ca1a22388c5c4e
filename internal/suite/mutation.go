package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/mutate"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A MutantStatus says whether a case noticed a mutant.
type MutantStatus string

// The statuses of mutants.
const (
	// Killed means that a case failed.
	Killed MutantStatus = "killed"
	// Survived means that no case failed, although what is composed differs in a case.
	Survived MutantStatus = "survived"
	// Unchanged means that what is composed is the same in all cases: no case has an input
	// for which the output differs, or the mutant is equivalent to the Composition.
	Unchanged MutantStatus = "unchanged"
)

// A Mutation is the outcome of the cases of a Composition for a mutant.
type Mutation struct {
	mutate.Mutant
	// Path is the file of the Composition, and Name its name.
	Path, Name string
	Status     MutantStatus
	// Case is the case that killed the mutant, or the first case in which what is composed
	// differs. Diffs are the differences of a mutant that survived.
	Case  string
	Diffs []report.DocDiff
}

// MutationOptions select mutants.
type MutationOptions struct {
	// Most is the maximum number of mutants, which are chosen at random from all by Seed. 0
	// means all.
	Most int
	Seed uint64
}

// Mutate makes mutants of the Compositions of items, and runs the cases of each until one
// fails. It calls each with the mutants in the order of the Compositions and their fields. The
// cases must pass for the Compositions themselves: otherwise Mutate returns an error.
func Mutate(ctx context.Context, items []Item, o Options, m MutationOptions, each func(Mutation) error) (err error) {
	o.Update, o.Trace, o.Coverage = nil, false, nil
	quiet := &atomic.Bool{}
	said := o.Config.Progress
	o.Config.Progress = func(e progress.Event) {
		if !quiet.Load() {
			said.Send(e)
		}
	}
	r := newRunner(o)
	defer func() { err = errors.Join(err, r.sessions.close(ctx)) }()
	subjects, err := r.subjects(ctx, items)
	if err != nil {
		return err
	}
	all, err := m.choose(subjects)
	if err != nil {
		return err
	}
	quiet.Store(true)
	return proc.ForEachOrdered(ctx, r.parallel(), all, func(ctx context.Context, _ int, one mutantOf) Mutation {
		return r.mutation(ctx, one)
	}, func(done Mutation) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		return each(done)
	})
}

// A subject is a Composition with the cases that test it.
type subject struct {
	doc   manifest.Document
	cases []caseOutput
}

// A caseOutput is a case, what it composes with the Composition itself, and its mocks.
type caseOutput struct {
	item  Item
	docs  []map[string]any
	mocks map[string]spec.Mock
}

// tests reports whether the case can run a mutant: it cannot mock a step that is removed.
func (c caseOutput) tests(m mutate.Mutant) bool {
	step, _ := m.Was.(map[string]any)
	name, _ := step["step"].(string)
	_, mocked := c.mocks[name]
	return m.Operator.Name != mutate.DropStep || !mocked
}

// subjects runs all items, and groups them by their Compositions. It returns an error if a case
// fails.
func (r *runner) subjects(ctx context.Context, items []Item) ([]*subject, error) {
	var all []*subject
	byKey := map[string]*subject{}
	without := 0
	type ran struct {
		Item
		out Outcome
	}
	err := proc.ForEachOrdered(ctx, r.parallel(), items, func(ctx context.Context, _ int, item Item) ran {
		return ran{item, r.run(ctx, item)}
	}, func(one ran) error {
		out := one.out
		switch out.Status {
		case Skipped:
			return nil
		case Failed:
			return fmt.Errorf("the case %s fails without a mutant: %s", out.Name(), out.Failures[0].Text)
		}
		doc := out.entry.Document
		if len(doc.Text) == 0 {
			without++
			return nil
		}
		key := doc.Position() + "\x00" + string(doc.Text)
		if byKey[key] == nil {
			byKey[key] = &subject{doc: doc}
			all = append(all, byKey[key])
		}
		byKey[key].cases = append(byKey[key].cases, caseOutput{one.Item, out.composed, out.mocks})
		return nil
	})
	if without > 0 {
		r.options.Config.Progress.Warn(report.Count(without, "case") + " not used: a case with an Operation or in profile alpha has no Composition to mutate")
	}
	return all, err
}

type mutantOf struct {
	*subject
	mutate.Mutant
}

// choose returns the mutants of the subjects.
func (m MutationOptions) choose(subjects []*subject) ([]mutantOf, error) {
	var all []mutantOf
	for _, s := range subjects {
		mutants, err := mutate.Of(s.doc)
		if err != nil {
			return nil, err
		}
		for _, one := range mutants {
			all = append(all, mutantOf{s, one})
		}
	}
	if m.Most == 0 || len(all) <= m.Most {
		return all, nil
	}
	chosen := rand.New(rand.NewPCG(m.Seed, m.Seed)).Perm(len(all))[:m.Most]
	slices.Sort(chosen)
	some := make([]mutantOf, m.Most)
	for i, n := range chosen {
		some[i] = all[n]
	}
	return some, nil
}

// mutation runs the cases of a mutant until one fails.
func (r *runner) mutation(ctx context.Context, m mutantOf) Mutation {
	out := Mutation{Mutant: m.Mutant, Path: m.doc.Path, Status: Unchanged}
	composition := m.Composition()
	metadata, _ := composition["metadata"].(map[string]any)
	out.Name, _ = metadata["name"].(string)
	for _, c := range m.cases {
		if !c.tests(m.Mutant) {
			continue
		}
		item := c.item
		item.composition = composition
		got := r.run(ctx, item)
		if got.Status == Failed {
			out.Status, out.Case, out.Diffs = Killed, got.Name(), nil
			return out
		}
		if out.Status == Unchanged {
			if out.Diffs = report.Compare(c.docs, got.composed); len(out.Diffs) > 0 {
				out.Status, out.Case = Survived, got.Name()
			}
		}
	}
	return out
}

func (r *runner) parallel() int {
	if n := r.options.Parallel; n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// documents returns what a render composes, and the connection details.
func documents(r session.Result) []map[string]any {
	docs := append([]map[string]any{r.XR}, r.Composed...)
	if r.ConnectionDetails != nil {
		docs = append(docs, r.ConnectionDetails)
	}
	return docs
}
