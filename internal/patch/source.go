package patch

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// Source returns the fields of an object that p reads, for Apply. The whole object may need
// much more memory.
func (p *Patch) Source(object *structpb.Struct) map[string]any {
	source := map[string]any{}
	for _, path := range append(slices.Clip(p.variables), p.from) {
		addField(source, object, path.path)
	}
	return source
}

// addField adds the field at a path in from to the object to. If the path names an element of a
// list, or a field of a scalar, addField adds the list or the scalar.
func addField(to map[string]any, from *structpb.Struct, path fieldpath.Path) {
	for i, segment := range path {
		v, ok := from.GetFields()[segment.Key]
		if segment.IsIndex || !ok {
			return
		}
		inner := v.GetStructValue()
		if inner == nil || i == len(path)-1 {
			to[segment.Key] = v.AsInterface()
			return
		}
		next, ok := to[segment.Key].(map[string]any)
		if !ok {
			next = map[string]any{}
			to[segment.Key] = next
		}
		to, from = next, inner
	}
}
