package patch

import "fmt"

// MaxText limits the output of one transform in bytes.
const MaxText = 16 << 20

// MaxTotal limits the output of all patches of one composite resource in bytes.
const MaxTotal = 256 << 20

// A Budget limits the output of the patches of one composite resource to
// MaxTotal.
type Budget struct {
	spent int
}

// Spend subtracts n bytes from the budget, or returns an error.
func (b *Budget) Spend(n int) error {
	if n < 0 || n > MaxTotal-b.spent {
		return fmt.Errorf("the patches make more than %d MiB", MaxTotal>>20)
	}
	b.spent += n
	return nil
}

// spendText checks the size of a text before it is built, and subtracts it.
func (b *Budget) spendText(n int) error {
	if err := checkText(n); err != nil {
		return err
	}
	return b.Spend(n)
}

func checkText(n int) error {
	if n < 0 || n > MaxText {
		return fmt.Errorf("it could make more than %d MiB of text", MaxText>>20)
	}
	return nil
}
