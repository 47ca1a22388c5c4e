package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A MutantStatus says whether a case noticed a mutant.
type MutantStatus string

// The statuses of mutants.
const (
	// Killed means that a case failed.
	Killed MutantStatus = "killed"
	// Survived means that no case failed, although the composed resources differ in a case or
	// for a generated input.
	Survived MutantStatus = "survived"
	// Unchanged means that the composed resources are the same in all cases and for all
	// generated inputs: the mutant is probably equivalent to the Composition.
	Unchanged MutantStatus = "unchanged"
	// TimedOut means that a case exceeded its timeout.
	TimedOut MutantStatus = "timed out"
)

// A Mutation is the outcome of the cases of a Composition for a mutant.
type Mutation struct {
	// Path is the file of the Composition, and Name its name.
	Path string `json:"path"`
	Name string `json:"-"`
	Mutant
	// Key identifies the mutant together with all that its verdict depends on.
	Key string `json:"-"`
	Verdict
}

// A Verdict says whether a case noticed a mutant.
type Verdict struct {
	Status MutantStatus `json:"status"`
	// Case is the case that killed the mutant or timed out, or the first case in which the
	// composed resources differ. Diffs are the differences of a mutant that survived.
	Case  string           `json:"case,omitempty"`
	Diffs []report.DocDiff `json:"diffs,omitempty"`
	// Input is the generated composite resource for which the composed resources differ, if
	// they do not differ in any case. Then Case is the case that has the other inputs.
	Input map[string]any `json:"input,omitempty"`
}

// MutationOptions select mutants.
type MutationOptions struct {
	// Most is the maximum number of mutants, which are chosen at random from all by Seed. 0
	// means all.
	Most int
	Seed uint64
	// Inputs is the number of composite resources that are generated for each Composition from the
	// XRD of its first case with one. They distinguish equivalent mutants from mutants that only the
	// cases do not detect.
	Inputs int
	// Version is the version of xfn, on which verdicts depend.
	Version string
	// Known has verdicts of an earlier run by their keys. These mutants are not tried again.
	Known map[string]Verdict
}

// Mutate makes mutants of the Compositions of items, and runs the cases of each until one
// fails. It calls each with the mutants in the order of the Compositions and their fields. The
// cases must pass for the Compositions themselves: otherwise Mutate returns an error.
func Mutate(ctx context.Context, items []Item, o Options, m MutationOptions, each func(Mutation) error) (err error) {
	o = o.rendering()
	quiet := &atomic.Bool{}
	said := o.Config.Progress
	o.Config.Progress = func(e progress.Event) {
		if !quiet.Load() {
			said.Send(e)
		}
	}
	read := &templateFiles{}
	o.Config.BuiltinOptions.GoTemplating.Read = read.add
	r := newRunner(o)
	defer func() { err = errors.Join(err, r.sessions.close(ctx, err == nil)) }()
	subjects, err := r.subjects(ctx, items)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if err := r.generateInputs(ctx, s, m); err != nil {
			return err
		}
	}
	for _, s := range subjects {
		if s.digest, err = r.sum(s, m.Version, read); err != nil {
			return err
		}
	}
	all, err := m.choose(subjects)
	if err != nil {
		return err
	}
	quiet.Store(true)
	return forEach(ctx, r, all, func(ctx context.Context, _ int, one mutantOf) Mutation {
		verdict, known := m.Known[one.key]
		if !known {
			verdict = r.verdict(ctx, one)
		}
		return Mutation{Mutant: one.Mutant, Path: one.Document.Path, Name: one.GetName(), Key: one.key, Verdict: verdict}
	}, each)
}

// A subject is a Composition with the cases that test it.
type subject struct {
	composition.Entry
	cases []caseOutput
	// generated are cases with generated composite resources. digest identifies the Composition,
	// the cases, and what they compose.
	generated []caseOutput
	digest    string
}

// A caseOutput is a case, what it composes with the Composition itself, its mocks and its inputs.
type caseOutput struct {
	item  Item
	docs  []map[string]any
	mocks map[string]spec.Mock
	// xr is the text of the composite resource, and functions are the functions that ran.
	xr        []byte
	functions []session.Run
}

// subjects runs all items, and groups them by their Compositions. It returns an error if a case
// fails.
func (r *runner) subjects(ctx context.Context, items []Item) ([]*subject, error) {
	var all []*subject
	byKey := map[string]*subject{}
	without := 0
	err := r.each(ctx, items, func(out Outcome) error {
		switch out.Status {
		case Skipped:
			return nil
		case Failed:
			return fmt.Errorf("the case %s fails without a mutant: %s", out.Name(), out.Failures[0].Text)
		}
		entry := out.result.Composition
		if len(entry.Document.Text) == 0 {
			without++
			return nil
		}
		key := entry.Document.Key()
		if byKey[key] == nil {
			byKey[key] = &subject{Entry: entry}
			all = append(all, byKey[key])
		}
		byKey[key].cases = append(byKey[key].cases, caseOutput{out.item, out.composed(), out.mocks, out.result.Document.Text, out.result.Functions})
		return nil
	})
	if without > 0 {
		r.options.Config.Progress.Warn(report.Count(without, "case") + " not used: a case with an Operation or in profile alpha has no Composition to mutate")
	}
	return all, err
}

type mutantOf struct {
	*subject
	Mutant
	key string
}

// choose returns the mutants of the subjects in their order: all, or m.Most of them by m.Seed.
func (m MutationOptions) choose(subjects []*subject) ([]mutantOf, error) {
	var all []mutantOf
	for _, s := range subjects {
		mutants, err := Mutants(s.Document)
		if err != nil {
			return nil, err
		}
		for i, one := range mutants {
			key := fmt.Sprintf("%s %d %s %s", s.digest, i, one.Operator, one.Field)
			all = append(all, mutantOf{s, one, key})
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

// verdict runs the cases of a mutant until one fails. If the composed resources are the same in
// all cases, it renders the generated inputs until they differ for one input.
func (r *runner) verdict(ctx context.Context, m mutantOf) Verdict {
	mutant := m.Mutant.Composition()
	v := Verdict{Status: Unchanged}
	for i, c := range slices.Concat(m.cases, m.generated) {
		isGenerated := i >= len(m.cases)
		if isGenerated && v.Status != Unchanged {
			break
		}
		if _, mocked := c.mocks[fieldpath.Text(m.Was, "step")]; mocked && m.Operator == dropStep {
			continue // The case cannot mock a step that is removed.
		}
		item := c.item
		item.composition = mutant
		got := r.run(ctx, item)
		switch {
		case got.timedOut:
			return Verdict{Status: TimedOut, Case: got.Name()}
		case got.Status == Failed && !isGenerated:
			return Verdict{Status: Killed, Case: got.Name()}
		case v.Status != Unchanged:
			continue
		}
		if diffs := report.Compare(c.docs, got.composed()); len(diffs) > 0 {
			v = Verdict{Status: Survived, Case: got.Name(), Diffs: diffs}
			if isGenerated {
				v.Input = item.fuzz.xr
			}
		}
	}
	return v
}

func (r *runner) parallel() int {
	if n := r.options.Parallel; n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// composed returns the documents that the case composed, or nil if the render failed.
func (o Outcome) composed() []map[string]any {
	if o.Err() != nil {
		return nil
	}
	return documents(o.result)
}

func documents(r session.Result) []map[string]any {
	if r.LastPass == nil {
		return nil
	}
	docs := append([]map[string]any{r.XR}, r.Composed...)
	if r.ConnectionDetails != nil {
		docs = append(docs, r.ConnectionDetails)
	}
	return docs
}
