package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A DocDiff is how a document differs from the one that was expected.
type DocDiff struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Resource is the composition resource name, if there is one.
	Resource string `json:"resource,omitempty"`
	// Op is Removed for a document that is missing, Added for one that nobody
	// expected, Changed for one that differs.
	Op Op `json:"op"`
	// Changes lead from the expected document to the one that is there.
	Changes []Change `json:"changes"`
}

// Compare returns how the documents that are there differ from those that are
// wanted: the missing and the differing ones in the order of want, then the
// unexpected ones in that of got. It returns nil if all are equal as Diff sees
// it; their order does not matter.
//
// Documents belong together that have the same apiVersion, kind, namespace and
// name. Those that are left over, then, belong together if they have the same
// composition resource name and XR, with the same apiVersion and kind before
// others. Last, those without a name by apiVersion and kind, in order.
func Compare(want, got []map[string]any) []DocDiff {
	partner := match(want, got)
	used := make([]bool, len(got))
	var all []DocDiff
	for i, w := range want {
		if partner[i] < 0 {
			all = append(all, docDiff(w, Removed, fieldpath.Diff(w, nil)))
			continue
		}
		used[partner[i]] = true
		if changes := fieldpath.Diff(w, got[partner[i]]); changes != nil {
			all = append(all, docDiff(w, Changed, changes))
		}
	}
	for i, g := range got {
		if !used[i] {
			all = append(all, docDiff(g, Added, fieldpath.Diff(nil, g)))
		}
	}
	return all
}

// match returns for each wanted document the index of the one that belongs to
// it, or -1.
func match(want, got []map[string]any) []int {
	partner := slices.Repeat([]int{-1}, len(want))
	taken := make([]bool, len(got))
	for _, key := range []func(map[string]any) string{byName, byResourceAndKind, byResource, byKind} {
		waiting := map[string][]int{}
		for i, g := range got {
			if k := key(g); k != "" && !taken[i] {
				waiting[k] = append(waiting[k], i)
			}
		}
		for i, w := range want {
			k := key(w)
			if k == "" || partner[i] >= 0 || len(waiting[k]) == 0 {
				continue
			}
			partner[i], waiting[k] = waiting[k][0], waiting[k][1:]
			taken[partner[i]] = true
		}
	}
	return partner
}

func byName(doc map[string]any) string {
	if fieldpath.Text(doc, "metadata", "name") == "" {
		return ""
	}
	return fmt.Sprintf("%q", []string{
		fieldpath.Text(doc, "apiVersion"), fieldpath.Text(doc, "kind"),
		fieldpath.Text(doc, "metadata", "namespace"), fieldpath.Text(doc, "metadata", "name"),
	})
}

func byResourceAndKind(doc map[string]any) string {
	if reconciler.ResourceName(doc) == "" {
		return ""
	}
	return fmt.Sprintf("%q", []string{byResource(doc), fieldpath.Text(doc, "apiVersion"), fieldpath.Text(doc, "kind")})
}

func byResource(doc map[string]any) string {
	if reconciler.ResourceName(doc) == "" {
		return ""
	}
	return fmt.Sprintf("%q", []string{fieldpath.Text(doc, "metadata", "labels", "crossplane.io/composite"), reconciler.ResourceName(doc)})
}

func byKind(doc map[string]any) string {
	if fieldpath.Text(doc, "metadata", "name") != "" || reconciler.ResourceName(doc) != "" {
		return ""
	}
	return fmt.Sprintf("%q", []string{fieldpath.Text(doc, "apiVersion"), fieldpath.Text(doc, "kind")})
}

func docDiff(doc map[string]any, op Op, changes []Change) DocDiff {
	return DocDiff{
		APIVersion: fieldpath.Text(doc, "apiVersion"),
		Kind:       fieldpath.Text(doc, "kind"),
		Namespace:  fieldpath.Text(doc, "metadata", "namespace"),
		Name:       fieldpath.Text(doc, "metadata", "name"),
		Resource:   reconciler.ResourceName(doc),
		Op:         op,
		Changes:    changes,
	}
}

// WriteDiff writes differences for people, as Trace.Text writes changes.
func WriteDiff(w io.Writer, diffs []DocDiff, color bool) error {
	p := newPrinter(w, color)
	verdicts := map[Op]string{Removed: " is missing", Added: " is unexpected", Changed: " differs"}
	for i, d := range diffs {
		if i > 0 {
			p.line("", "", "")
		}
		p.diff("", d, verdicts[d.Op])
	}
	return p.out.Flush()
}

// WriteChanges writes what happens to documents, each with its fields below it.
func WriteChanges(w io.Writer, diffs []DocDiff, color bool) error {
	p := newPrinter(w, color)
	for _, d := range diffs {
		p.diff("  ", d, " "+string(d.Op))
	}
	return p.out.Flush()
}

// WriteFields writes changes of fields, each on lines of its own.
func WriteFields(w io.Writer, changes []Change) error {
	p := newPrinter(w, false)
	p.changes("  ", changes)
	return p.out.Flush()
}

func (p *printer) diff(indent string, d DocDiff, verdict string) {
	p.line(indent, colorOf(d.Op), d.Op.Sign()+" "+Printable(d.title()+verdict))
	p.changes(indent+"    ", d.Changes)
}

func (d DocDiff) title() string {
	kind := d.Kind
	if kind == "" {
		kind = "document"
	}
	words := []string{kind}
	if d.Name != "" {
		words = append(words, strings.TrimPrefix(d.Namespace+"/"+d.Name, "/"))
	}
	var details []string
	if d.APIVersion != "" {
		details = append(details, d.APIVersion)
	}
	if d.Resource != "" {
		details = append(details, "resource "+d.Resource)
	}
	return strings.Join(words, " ") + aside(details...)
}
