package flags

import (
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// WarnRefused warns of the first reasons why an API server would refuse an object, and of the number
// of the others.
func WarnRefused(term *terminal.Terminal, r validate.Result) {
	const most = 3
	all := r.Refusals("")
	for _, err := range all[:min(len(all), most)] {
		term.Warn(err.Error())
	}
	if more := len(all) - most; more > 0 {
		term.Warn(fmt.Sprintf("%s: %s has %s", r.Path, r.Name, terminal.Count(more, "further error")))
	}
}
