package session

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// explain adds the name of the XR to the error of a render, which may be nil. If err is a fatal
// result of a function that has a builtin, explain adds the position of the field in e to which
// the result refers and, if the builtin ran, a hint.
func (s *Session) explain(err error, xr string, e composition.Entry) error {
	var fatal *render.FatalError
	if errors.As(err, &fatal) {
		err = s.advise(err, fatal, e)
	}
	if err != nil {
		err = fmt.Errorf("rendering composite resource %q: %w", xr, err)
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
	if f := misfit(b, input); f.Field != "" && strings.Contains(fatal.Message, "cannot unmarshal") {
		return hint.Wrap(locate(err, f.Field, 1, e, n), f.Field+" "+f.Text)
	}
	if input != nil {
		if field, line := b.Locate(fatal.Message, input); field != "" {
			err = locate(err, field, line, e, n)
		}
	}
	if advice := b.Advice(fatal.Message, input); ran && advice != "" {
		return hint.Wrap(err, advice)
	}
	return err
}

// locate adds to err the position and the path of a field of the input of the step in e with
// index n. line is the line in the text of the field.
func locate(err error, below string, line int, e composition.Entry, n int) error {
	field := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input.%s", n, below))
	at := e.Document
	at.Line = at.Lines().OfText(field, line)
	return fmt.Errorf("%s: %s: %w", at.Position(), field, err)
}

// misfit returns the first field of an input that has another type than the builtin decodes.
// Errors of decoding lack the indices of lists.
func misfit(b builtin.Builtin, input []byte) (none schema.Fault) {
	var obj any
	if b.Type == nil || json.Unmarshal(input, &obj) != nil {
		return none
	}
	for _, f := range schema.DecodeKind(nil, obj, b.Type) {
		if !f.Unknown {
			return f
		}
	}
	return none
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
