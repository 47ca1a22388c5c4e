package limit

import (
	"context"
	"fmt"
	"reflect"
	"strings"
)

const (
	// maxMemory bounds what all values of an execution take that were made by
	// functions, whether they are still there or not, in bytes.
	maxMemory = 256 << 20
	// maxOutput bounds the output of a template, in bytes.
	maxOutput = 64 << 20
	// maxStack bounds the stack, in bytes. Go doubles it when it is full, and ends
	// the process when it would be more than 512 MiB.
	maxStack = 256 << 20
	// maxLoops bounds how many loops are under way within each other. Each of them
	// recovers from an error and panics anew on top of the stack, which takes time
	// with the square of their number: half a second for these.
	maxLoops = 2048
)

var (
	errMemory = fmt.Errorf("the values that the template makes take more than %d MiB", maxMemory>>20)
	errOutput = fmt.Errorf("the output is larger than %d MiB", maxOutput>>20)
	errStack  = fmt.Errorf("templates within templates take more than %d MiB of stack", maxStack>>20)
	errLoops  = fmt.Errorf("more than %d loops are under way within each other", maxLoops)
)

// A Budget is what one execution of a template may use. It is for one goroutine.
type Budget struct {
	cause  func() error
	done   <-chan struct{}
	memory float64
	stack  int
	loops  int
}

// New returns the budget of an execution that ends when ctx does, with its cause.
func New(ctx context.Context) *Budget {
	cause := func() error { return context.Cause(ctx) }
	return &Budget{cause: cause, done: ctx.Done(), memory: maxMemory, stack: maxStack, loops: maxLoops}
}

// Check returns an error if the execution is to end.
func (b *Budget) Check() error { return b.cause() }

// Afford returns an error if there is less left than a value would take, in bytes.
func (b *Budget) Afford(bytes float64) error {
	if bytes > b.memory {
		return errMemory
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
	bytes, err := sizeOf(v, b.memory)
	if err != nil {
		return err
	}
	return b.Spend(bytes)
}

// Measure returns an error if v is more than the budget allows to be written as
// text, or nested without an end.
func (b *Budget) Measure(v reflect.Value) error {
	_, err := sizeOf(v, b.memory)
	return err
}

// Fits returns an error if v is more than a template may make, or nested without an
// end.
func Fits(v reflect.Value) error {
	_, err := sizeOf(v, maxMemory)
	return err
}

// Enter takes from the budget what the execution of a template takes: the stack
// below what it calls, in bytes, and the loops within each other.
func (b *Budget) Enter(stack, loops int) error {
	switch {
	case stack > b.stack:
		return errStack
	case loops > b.loops:
		return errLoops
	}
	b.Leave(-stack, -loops)
	return nil
}

// Leave gives back what Enter took.
func (b *Budget) Leave(stack, loops int) {
	b.stack += stack
	b.loops += loops
}

// A Writer holds text that a template prints, of at most 64 MiB.
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
	if w.text.Len()+len(p) > maxOutput {
		return 0, errOutput
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
