package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A DocDiff is the difference between a document and the expected one.
type DocDiff struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Resource is the composition resource name, if there is one.
	Resource string `json:"resource,omitempty"`
	// Op is Removed for a missing document, Added for an unexpected one, Orphaned for a
	// resource that Crossplane neither manages nor deletes, and otherwise Changed.
	Op Op `json:"op"`
	// Changes are the fields that differ, with expected and actual values.
	Changes []Change `json:"changes"`
}

// Orphaned is the Op of a resource that Crossplane neither manages nor deletes any more.
const Orphaned Op = "orphaned"

// Orphan returns the DocDiff of an orphaned resource.
func Orphan(doc map[string]any) DocDiff { return docDiff(doc, Orphaned, []Change{}) }

// Compare returns the differences between the expected documents want and the actual
// documents got, whose order does not matter. It returns missing and different
// documents in the order of want, then unexpected documents in the order of got.
// Without differences it returns nil.
//
// Compare matches documents by apiVersion, kind, namespace and name. It matches the
// remaining documents by XR and composition resource name, if possible with the same
// apiVersion and kind, and at last documents without a name by apiVersion and kind.
func Compare(want, got []map[string]any) []DocDiff {
	partner, taken := match(want, got)
	var all []DocDiff
	for i, w := range want {
		if partner[i] < 0 {
			all = append(all, docDiff(w, Removed, fieldpath.Diff(w, nil)))
		} else if changes := fieldpath.Diff(w, got[partner[i]]); changes != nil {
			all = append(all, docDiff(w, Changed, changes))
		}
	}
	for i, g := range got {
		if !taken[i] {
			all = append(all, docDiff(g, Added, fieldpath.Diff(nil, g)))
		}
	}
	return all
}

// match returns, for each expected document, the index of the matching actual document,
// or -1. It also returns, for each actual document, whether it matches an expected
// document.
func match(want, got []map[string]any) (partner []int, taken []bool) {
	partner, taken = slices.Repeat([]int{-1}, len(want)), make([]bool, len(got))
	wantKeys, gotKeys := make([][4]docKey, len(want)), make([][4]docKey, len(got))
	for i, w := range want {
		wantKeys[i] = keysOf(w)
	}
	for i, g := range got {
		gotKeys[i] = keysOf(g)
	}
	for n := range 4 {
		waiting := map[docKey][]int{}
		for i, keys := range gotKeys {
			if k := keys[n]; k != (docKey{}) && !taken[i] {
				waiting[k] = append(waiting[k], i)
			}
		}
		for i, keys := range wantKeys {
			k := keys[n]
			if k == (docKey{}) || partner[i] >= 0 || len(waiting[k]) == 0 {
				continue
			}
			partner[i], waiting[k] = waiting[k][0], waiting[k][1:]
			taken[partner[i]] = true
		}
	}
	return partner, taken
}

// A docKey has the values that two documents must have in common to match, and says
// which fields these are. The zero docKey matches nothing.
type docKey struct {
	by     string
	values [4]string
}

// keysOf returns the keys by which a document is matched, best first.
func keysOf(doc map[string]any) (keys [4]docKey) {
	d := docDiff(doc, "", nil)
	xr := fieldpath.Text(doc, "metadata", "labels", reconciler.LabelComposite)
	if d.Name != "" {
		keys[0] = docKey{"name", [4]string{d.APIVersion, d.Kind, d.Namespace, d.Name}}
	}
	if d.Resource != "" {
		keys[1] = docKey{"resource and kind", [4]string{xr, d.Resource, d.APIVersion, d.Kind}}
		keys[2] = docKey{"resource", [4]string{xr, d.Resource}}
	}
	if d.Name == "" && d.Resource == "" {
		keys[3] = docKey{"kind", [4]string{d.APIVersion, d.Kind}}
	}
	return keys
}

func docDiff(doc map[string]any, op Op, changes []Change) DocDiff {
	return DocDiff{
		APIVersion: fieldpath.Text(doc, "apiVersion"), Kind: fieldpath.Text(doc, "kind"),
		Namespace: fieldpath.Text(doc, "metadata", "namespace"), Name: fieldpath.Text(doc, "metadata", "name"),
		Resource: reconciler.ResourceName(doc), Op: op, Changes: changes,
	}
}

// WriteDiff writes differences as text, in the format of Trace.Text.
func WriteDiff(w io.Writer, diffs []DocDiff, s Style) error {
	p := newPrinter(w, s)
	verdicts := map[Op]string{Removed: " is missing", Added: " is unexpected", Changed: " differs"}
	for i, d := range diffs {
		if i > 0 {
			p.line("", "", "")
		}
		p.diff("", d, verdicts[d.Op])
	}
	return p.out.Flush()
}

// WriteChanges writes the changes of documents, with the fields of each below it.
func WriteChanges(w io.Writer, diffs []DocDiff, s Style) error {
	p := newPrinter(w, s)
	for _, d := range diffs {
		verdict := " " + string(d.Op)
		if d.Op == Orphaned {
			verdict = " is orphaned: Crossplane neither changes nor deletes it any more"
		}
		p.diff("  ", d, verdict)
	}
	return p.out.Flush()
}

// WriteFields writes changes of fields, each on one line or below the name of the field.
func WriteFields(w io.Writer, changes []Change, s Style) error {
	p := newPrinter(w, s)
	p.changes("  ", changes)
	return p.out.Flush()
}

func (p *printer) diff(indent string, d DocDiff, verdict string) {
	sign := d.Op.Sign()
	if d.Op == Orphaned {
		sign = "!"
	}
	p.line(indent, colorOf(d.Op), sign+" "+Printable(d.title()+verdict))
	p.changes(indent+"    ", d.Changes)
}

func (d DocDiff) title() string {
	title, resource := cmp.Or(d.Kind, "document"), ""
	if d.Name != "" {
		title += " " + strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
	}
	if d.Resource != "" {
		resource = "resource " + d.Resource
	}
	return title + inParentheses(d.APIVersion, resource)
}
