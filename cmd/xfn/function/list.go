package function

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/builtin"
)

// ListCmd lists builtins.
type ListCmd struct{ terminal.Format }

// Help is shown by --help.
func (ListCmd) Help() string {
	return `MEASURED is the version of the original function that the builtin was compared with. ACCEPTED are the versions that the builtin replaces without a warning. INPUT is the kind of a pipeline step's input. As JSON and YAML, the list also has the schemas of inputs (OpenAPI v3, as in a CRD) and the options for --builtin-option.

Example:

    xfn function list --format json
`
}

// entry is a builtin in machine-readable output.
type entry struct {
	Name     string    `json:"name"`
	Measured string    `json:"measured"`
	Accepted string    `json:"accepted"`
	Versions versions  `json:"versions"`
	Input    kind      `json:"input"`
	Settings []setting `json:"settings,omitempty"`
}

// versions are the versions that a builtin replaces: From is the first of them, and Below
// the first later version that it does not replace.
type versions struct {
	From  string `json:"from"`
	Below string `json:"below"`
}

type kind struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Schema     map[string]any `json:"schema"`
}

type setting struct {
	Option   string `json:"option"`
	Variable string `json:"variable,omitempty"`
	Since    string `json:"since"`
}

// Run prints the list of builtins.
func (c *ListCmd) Run(term *terminal.Terminal) error {
	var entries []entry
	for _, b := range builtin.All() {
		entries = append(entries, newEntry(b))
	}
	return c.Print(term, entries, table(entries))
}

func newEntry(b builtin.Builtin) entry {
	input := kind{b.GroupVersion().String(), b.Kind, b.Schema()}
	e := entry{Name: b.Name, Measured: b.Measured, Accepted: ">=" + b.From + " <" + b.Below, Versions: versions{b.From, b.Below}, Input: input}
	for _, s := range b.Settings {
		e.Settings = append(e.Settings, setting{Option: b.Option(s.Key), Variable: s.Variable, Since: s.Since})
	}
	return e
}

func table(entries []entry) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NAME\tMEASURED\tACCEPTED\tINPUT")
	for _, e := range entries {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", e.Name, e.Measured, e.Accepted, e.Input.Kind)
	}
	_ = tw.Flush() // A strings.Builder never fails.
	return b.String()
}
