package patch

import "fmt"

// MaxText is the longest text that one transform may make, in bytes.
const MaxText = 16 << 20

// MaxTotal is how much all patches of one composite resource may make, in bytes.
const MaxTotal = 256 << 20

// A Budget bounds what the patches of one composite resource make together. The
// zero value has MaxTotal to spend.
type Budget struct {
	spent int
}

// Spend takes n bytes out of the budget, and fails if it does not hold them.
func (b *Budget) Spend(n int) error {
	if n < 0 || n > MaxTotal-b.spent {
		return fmt.Errorf("the patches make more than %d MiB", MaxTotal>>20)
	}
	b.spent += n
	return nil
}

// spendText takes a text out of the budget that is about to be made.
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
