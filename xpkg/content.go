package xpkg

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
)

// content is what rules judge: the objects of a package, with the documents
// that they come from. Documents that cannot be decoded are not in it.
type content struct {
	// meta is the package metadata, the first if there are several, and the
	// zero value if there is none.
	meta decoded
	// objects are the others, and examples those of the examples, of any kind.
	objects, examples []decoded
}

// yaml returns package.yaml.
func (c content) yaml() []byte {
	const separator = "---\n"
	parts := [][]byte{nil, c.meta.yaml}
	for _, d := range c.objects {
		parts = append(parts, d.yaml)
	}
	return bytes.Join(append(parts, nil), []byte(separator))
}

// documents returns the objects, with the text of each.
func (c content) documents() []Document {
	all := make([]Document, len(c.objects))
	for i, d := range c.objects {
		all[i] = Document{Object: d.Object, Text: d.doc.Text, TextLine: d.doc.Line}
	}
	return all
}

// assemble finds the one metadata object of a package and checks that the
// others may be in its kind of package. Where names the package in problems. If
// broken, there may be metadata that could not be decoded.
func assemble(where string, all []decoded, broken bool) (content, Problems) {
	var c content
	var metas []decoded
	for _, d := range all {
		if isMeta(d.Object) {
			metas = append(metas, d)
			continue
		}
		c.objects = append(c.objects, d)
	}
	switch {
	case len(metas) == 0 && broken:
		return c, nil
	case len(metas) == 0:
		return c, Problems{{
			Rule: "metadata-count", Refused: true,
			Text: fmt.Sprintf("%s contains no package metadata: no .yaml or .yml file in it has an object of %s", where, metaGroup),
			Hint: string("write a crossplane.yaml, or name its directory with " + hint.PackageRoot),
		}}
	}
	c.meta = metas[0]
	if len(metas) > 1 {
		return c, Problems{metasProblem(where, metas)}
	}
	var found Problems
	for _, d := range c.objects {
		if !allowed(c.meta.Kind, d.Object) {
			text := fmt.Sprintf("kind %s of %s cannot be in a %s package", d.Kind, d.APIVersion, c.meta.Kind)
			found = append(found, d.refused("kind-not-allowed", text, allowedHint(c.meta.Kind)))
		}
	}
	return c, found
}

func metasProblem(where string, metas []decoded) Problem {
	at := make([]string, 0, len(metas))
	for _, m := range metas {
		at = append(at, fmt.Sprintf("%s (%s %s)", m.Position(), m.Kind, m.Name))
	}
	return Problem{
		Rule: "metadata-count", Refused: true,
		Text: fmt.Sprintf("%s contains %d package metadata objects, and must contain one: %s", where, len(metas), strings.Join(at, ", ")),
		Hint: string("leave files out with " + hint.Ignore + ", or move them out of the package root"),
	}
}
