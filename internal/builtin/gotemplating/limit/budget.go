package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Limits bound what one execution of a template may use.
type Limits struct {
	// Memory bounds what all values take that functions made, whether they are
	// still there or not, in bytes. So no more than that is ever held.
	Memory int
	// Value bounds what any one value takes, in bytes, and what all documents take
	// that are read of the output.
	Value int
	// Output bounds the output, in bytes.
	Output int
	// Stack bounds the stack, in bytes. Go doubles it when it is full, and ends the
	// process when it would be more than 512 MiB.
	Stack int
	// Loops bounds how many loops are under way within each other. Each of them
	// recovers from an error and panics anew on top of the stack, which takes time
	// with the square of their number.
	Loops int
}

// Usual returns the limits that templates have: 1 GiB of memory, 256 MiB for a
// value, 64 MiB of output, 256 MiB of stack, and 2048 loops, whose errors take half
// a second.
func Usual() Limits {
	return Limits{Memory: 1 << 30, Value: 256 << 20, Output: 64 << 20, Stack: 256 << 20, Loops: 2048}
}

// A Budget is what one execution of a template may use. It is for one goroutine.
type Budget struct {
	cause  func() error
	done   <-chan struct{}
	limits Limits
	memory float64
	stack  int
	loops  int
	// soon is how many steps a search has that need not be ended.
	soon float64
}

// usuallySoon takes a third of a second at most.
const usuallySoon = 1 << 24

// New returns the budget of an execution that ends when ctx does, with its cause.
func New(ctx context.Context, l Limits) *Budget {
	cause := func() error { return context.Cause(ctx) }
	return &Budget{
		cause:  cause,
		done:   ctx.Done(),
		limits: l,
		memory: float64(l.Memory),
		stack:  l.Stack,
		loops:  l.Loops,
		soon:   usuallySoon,
	}
}

// Documents returns the budget for reading what the execution printed. That holds
// nothing of the execution any more.
func (b *Budget) Documents() *Budget {
	documents := *b
	documents.limits.Memory = b.limits.Value
	documents.memory = float64(b.limits.Value)
	return &documents
}

// Check returns an error if the execution is to end.
func (b *Budget) Check() error { return b.cause() }

// most is what a value can take that is made now.
func (b *Budget) most() float64 { return min(b.memory, float64(b.limits.Value)) }

// exceeded returns the error for a value that would take more.
func (b *Budget) exceeded() error {
	if b.memory < float64(b.limits.Value) {
		return fmt.Errorf("the values that the template makes take more than %d MiB", b.limits.Memory>>20)
	}
	return fmt.Errorf("a value takes more than %d MiB", b.limits.Value>>20)
}

// Afford returns an error if there is less left than a value would take, in bytes.
func (b *Budget) Afford(bytes float64) error {
	if bytes > b.most() || math.IsNaN(bytes) {
		return b.exceeded()
	}
	return nil
}

// Spend takes from the budget what a value takes that was made, in bytes.
func (b *Budget) Spend(bytes float64) error {
	if err := b.Afford(bytes); err != nil {
		return err
	}
	b.memory -= bytes
	return nil
}

// SpendOn takes from the budget what v takes with all that is in it.
func (b *Budget) SpendOn(v reflect.Value) error {
	bytes, err := b.size(v, inMemory)
	if err != nil {
		return err
	}
	return b.Spend(bytes)
}

// Measure returns an error if v is more than the budget allows to be written as
// text, or nested without an end.
func (b *Budget) Measure(v reflect.Value) error {
	_, err := b.size(v, asText)
	return err
}

// Fits returns an error if v is more than a value can be, or nested without an end.
func (b *Budget) Fits(v reflect.Value) error {
	_, err := b.size(v, inMemory)
	return err
}

// size is sizeOf within the budget, with its error.
func (b *Budget) size(v reflect.Value, s scale) (float64, error) {
	bytes, err := sizeOf(v, s, b.most())
	return bytes, b.explain(err)
}

// explain says in an error for what is too much how much that is.
func (b *Budget) explain(err error) error {
	if errors.Is(err, errSize) {
		return b.exceeded()
	}
	return err
}

// Enter takes from the budget what the execution of a template takes: the stack
// below what it calls, in bytes, and the loops within each other.
func (b *Budget) Enter(stack, loops int) error {
	switch {
	case stack > b.stack:
		return fmt.Errorf("templates within templates take more than %d MiB of stack", b.limits.Stack>>20)
	case loops > b.loops:
		return fmt.Errorf("more than %d loops are under way within each other", b.limits.Loops)
	}
	b.Leave(-stack, -loops)
	return nil
}

// Leave gives back what Enter took.
func (b *Budget) Leave(stack, loops int) {
	b.stack += stack
	b.loops += loops
}

// A Writer holds text that a template prints, as much as its Limits allow.
type Writer struct {
	text   strings.Builder
	budget *Budget
	paid   bool
}

// Output returns a Writer for the output of the whole execution.
func (b *Budget) Output() *Writer { return &Writer{budget: b} }

// Text returns a Writer for text that the template goes on with. It is paid for as
// it is written.
func (b *Budget) Text() *Writer { return &Writer{budget: b, paid: true} }

// Write implements io.Writer. It writes all or nothing.
func (w *Writer) Write(p []byte) (int, error) {
	if most := w.budget.limits.Output; w.text.Len()+len(p) > most {
		return 0, fmt.Errorf("the output is larger than %d MiB", most>>20)
	}
	if w.paid {
		if err := w.budget.Spend(float64(len(p))); err != nil {
			return 0, err
		}
	}
	if err := w.budget.Check(); err != nil {
		return 0, err
	}
	return w.text.Write(p)
}

// String returns the text.
func (w *Writer) String() string { return w.text.String() }
