package xpkg

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/xpkg"
)

// mostProblems is how many problems of a package are printed: nobody reads more.
const mostProblems = 50

// faults prints the problems that err is, if they are several, and returns
// what is left to say.
func faults(term *terminal.Terminal, root string, err error) error {
	var all xpkg.Problems
	if !errors.As(err, &all) || len(all) == 1 {
		return err
	}
	for _, p := range worthPrinting(all) {
		term.Fault(p.Err())
	}
	root = cmp.Or(root, ".")
	if len(all) > mostProblems {
		return fmt.Errorf("package root %q has %d problems, of which the first %d are above", root, len(all), mostProblems)
	}
	return fmt.Errorf("package root %q has %d problems", root, len(all))
}

// warn prints the problems of a package that is built all the same.
func warn(term *terminal.Terminal, all xpkg.Problems) {
	for _, p := range worthPrinting(all) {
		text := p.Err().Error()
		if p.Hint != "" {
			text += "\nhint: " + hint.Hint(p.Hint).Spell(term.Spell)
		}
		term.Warn(text)
	}
	if n := len(all) - mostProblems; n > 0 {
		term.Warn(fmt.Sprintf("and %d more", n))
	}
}

// worthPrinting returns the first problems, each hint once.
func worthPrinting(all xpkg.Problems) xpkg.Problems {
	hints := map[string]bool{}
	some := make(xpkg.Problems, 0, mostProblems)
	for _, p := range all[:min(len(all), mostProblems)] {
		if hints[p.Hint] {
			p.Hint = ""
		}
		hints[p.Hint] = true
		some = append(some, p)
	}
	return some
}
