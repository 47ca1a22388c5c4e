package session

import (
	"errors"
	"fmt"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/render"
)

// explain adds the name of the XR or Operation to the error of a render, which may be nil. If err is a fatal
// result of a function that has a builtin, explain adds the position of the field in e to which
// the result refers and, if the builtin ran, a hint.
func (s *Session) explain(err error, xr string, e composition.Entry) error {
	var fatal *render.FatalError
	if errors.As(err, &fatal) {
		err = s.advise(err, fatal, e)
	}
	if err != nil {
		what := "composite resource"
		if e.What() != apiextv1.CompositionKind {
			what = e.What()
		}
		err = fmt.Errorf("rendering %s %q: %w", what, xr, err)
	}
	return err
}

func (s *Session) advise(err error, fatal *render.FatalError, e composition.Entry) error {
	s.mu.Lock()
	running := s.running[fatal.Function]
	s.mu.Unlock()
	b, known := builtinFor(fatal.Function)
	ran := running != nil && running.choice.runtime == Builtin
	if ran {
		b, known = running.choice.builtin, true
	}
	if !known {
		return err
	}
	n, input := inputOf(e, fatal.Step)
	err = locate(err, fatal, b, e, n, input)
	if advice := b.Advice(fatal.Message, input); ran && advice != "" {
		return hint.Wrap(err, advice)
	}
	return err
}

// locate adds the position and the path of the field in e to which a fatal result refers. input
// is the input of the step with index n.
func locate(err error, fatal *render.FatalError, b builtin.Builtin, e composition.Entry, n int, input []byte) error {
	if input == nil {
		return err
	}
	below, line := b.Locate(fatal.Message, input)
	if below == "" {
		return err
	}
	field := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input.%s", n, below))
	at := e.Document
	at.Line = at.Lines().OfText(field, line)
	return fmt.Errorf("%s: %s: %w", at.Position(), field, err)
}

// inputOf returns the index of a step and its input in JSON, or nil.
func inputOf(e composition.Entry, step string) (int, []byte) {
	for i, s := range e.Spec.Pipeline {
		if s.Step == step && s.Input != nil {
			return i, s.Input.Raw
		}
	}
	return 0, nil
}
