package check

import (
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A place is the object that a patch reads or writes.
type place int

const (
	inEnvironment place = iota
	inResource
	inXR
)

// A route is the source and the target of a patch.
type route struct{ from, to place }

// routes maps each type of patch to its source and target: ofTemplate for a patch
// in a resource template, ofEnvironment for an environment patch. For an unknown
// type, the zero value says that both source and target are the environment.
var routes = map[spec.PatchType]struct{ ofTemplate, ofEnvironment route }{
	spec.FromCompositeFieldPath:   {route{inXR, inResource}, route{inXR, inEnvironment}},
	spec.CombineFromComposite:     {route{inXR, inResource}, route{inXR, inEnvironment}},
	spec.ToCompositeFieldPath:     {route{inResource, inXR}, route{inEnvironment, inXR}},
	spec.CombineToComposite:       {route{inResource, inXR}, route{inEnvironment, inXR}},
	spec.FromEnvironmentFieldPath: {route{inEnvironment, inResource}, route{inEnvironment, inXR}},
	spec.CombineFromEnvironment:   {route{inEnvironment, inResource}, route{inEnvironment, inXR}},
	spec.ToEnvironmentFieldPath:   {route{inResource, inEnvironment}, route{inXR, inEnvironment}},
	spec.CombineToEnvironment:     {route{inResource, inEnvironment}, route{inXR, inEnvironment}},
}

// patches checks patches against the schemas of their sources and targets.
func (c *checker) patches(in source) {
	sets := map[string]int{}
	for i, set := range in.PatchSets {
		sets[set.Name] = i
	}
	environmentPatches := in.environmentPatches()
	for i := range environmentPatches {
		p := &environmentPatches[i]
		c.patch(in, in.below("environment.patches[%d]", i), p, routes[p.TypeOrDefault()].ofEnvironment, side{})
	}
	done := map[setUse]bool{}
	for i := range in.Resources.Resources {
		t, at := &in.Resources.Resources[i], in.below("resources[%d]", i)
		resource := c.template(at, t)
		for j := range t.Patches {
			p := &t.Patches[j]
			if p.Type != spec.PatchSetType {
				c.patch(in, fmt.Sprintf("%s.patches[%d]", at, j), &p.Patch, routes[p.TypeOrDefault()].ofTemplate, resource)
			} else if p.PatchSetName != nil {
				c.patchSet(in, sets, *p.PatchSetName, resource, done)
			}
		}
		c.observed(at, t, resource)
	}
	secretPatches := in.secretPatches()
	for i := range secretPatches {
		if p := &secretPatches[i]; ofSecret(p) {
			c.patch(in, in.below("writeConnectionSecretToRef.patches[%d]", i), p, route{inXR, inEnvironment}, side{})
		}
	}
}

// A setUse is the use of a patch set by a kind of resource: the index of the
// patch set, and the description of the kind.
type setUse struct {
	set  int
	what string
}

// patchSet checks the patches of a set against the kind of a resource that uses
// the set, once for each kind.
func (c *checker) patchSet(in source, sets map[string]int, name string, resource side, done map[setUse]bool) {
	i, ok := sets[name]
	use := setUse{i, resource.what}
	if !ok || done[use] {
		return
	}
	done[use] = true
	set := &in.PatchSets[i]
	for j := range set.Patches {
		p, at := &set.Patches[j], in.below("patchSets[%d].patches[%d]", i, j)
		if c.budget--; c.budget < 0 {
			c.add(NotChecked, in.below("patchSets"), "the patch sets expand to so many patches that not all were checked")
			return
		}
		c.patch(in, at, p, routes[p.TypeOrDefault()].ofTemplate, resource)
	}
}

func (c *checker) at(p place, resource side) side {
	switch p {
	case inXR:
		return c.xr()
	case inResource:
		return resource
	default:
		return side{what: environment}
	}
}

// environment describes the side of the environment, which has no schema.
const environment = "environment"

func (c *checker) patch(in source, at string, p *spec.Patch, r route, resource side) {
	v, ok := c.read(at, p, c.at(r.from, resource))
	if !ok {
		v = value{types: schema.Any}
	}
	for i := range p.Transforms {
		out, why := change(&p.Transforms[i], v.types)
		if why != "" {
			c.add(WrongType, fmt.Sprintf("%s.transforms[%d]", at, i), "%s", why)
		}
		c.mapped(at, &p.Transforms[i], v)
		v = value{types: out, what: "the output of the transforms"}
	}
	c.write(in, at, p, v, r, resource)
}

// mapped reports each value in the enum of v's schema that the map transform t
// has no entry for. After the first transform of a patch, v has no schema.
func (c *checker) mapped(at string, t *spec.Transform, v value) {
	if t.Type != spec.TransformMap || t.Map == nil {
		return
	}
	for _, may := range v.node.Enum() {
		key, ok := may.(string)
		if _, has := t.Map[key]; ok && !has {
			c.add(NotInMap, at+".transforms[0].map", "%s may be %q, but the map has no value for it", v.what, key)
		}
	}
}

// read returns what is known about the value that a patch reads, or false if
// nothing is known.
func (c *checker) read(at string, p *spec.Patch, from side) (value, bool) {
	if !p.TypeOrDefault().IsCombine() {
		if p.FromFieldPath == nil || *p.FromFieldPath == "" {
			return value{}, false
		}
		return c.lookUp(at+".fromFieldPath", *p.FromFieldPath, from)
	}
	if p.Combine != nil {
		for i, variable := range p.Combine.Variables {
			c.lookUp(fmt.Sprintf("%s.combine.variables[%d].fromFieldPath", at, i), variable.FromFieldPath, from)
		}
	}
	return value{types: schema.String, what: "the combined value"}, true
}

func (c *checker) lookUp(field, text string, from side) (value, bool) {
	path, ok := c.parse(field, text)
	if !ok {
		return value{}, false
	}
	if f := c.rootFault(path); f != nil && from.isXR {
		c.fault(field, f)
		return value{}, false
	}
	switch {
	case from.isXR:
		c.reads.composite[field] = path
	case from.what == environment:
		c.reads.environment[field] = path
	case from.name != "":
		if c.reads.observed[from.name] == nil {
			c.reads.observed[from.name] = reads{}
		}
		c.reads.observed[from.name][field] = path
	}
	node, f := from.find(path, false)
	c.fault(field, f)
	return value{node.Types(), node, from.of(path)}, f == nil
}

func (c *checker) write(in source, at string, p *spec.Patch, v value, r route, resource side) {
	field := at + ".toFieldPath"
	if p.ToFieldPath == nil {
		field = at + ".fromFieldPath"
	}
	path, ok := c.parse(field, p.To())
	if !ok || len(path) == 0 {
		return
	}
	for _, segment := range path {
		if segment.Index > fieldpath.MaxIndex {
			c.add(InvalidInput, field, "index %d exceeds the maximum, %d", segment.Index, fieldpath.MaxIndex)
		}
	}
	if r.to == inEnvironment {
		c.reads.written[in.at] = true
	}
	c.applied(in, field, p, path, r)
	to := c.at(r.to, resource)
	node, f := to.find(path, !p.TypeOrDefault().IsCombine() && strings.Contains(p.To(), "[*]"))
	if c.fault(field, f); f != nil {
		return
	}
	types := v.types &^ schema.Null
	if types != 0 && types&node.Types() == 0 {
		c.add(WrongType, field, "%s is %s, but %s must be %s", v.what, types, to.of(path), node.Types())
		return
	}
	if odd := misfitIn(v.node, node); odd != nil {
		inner := strings.TrimPrefix(odd.at, ".")
		if odd.to == (schema.Node{}) {
			c.add(WrongType, field, "%s always has %s, but %s has no such field", v.what, inner, to.of(path))
			return
		}
		c.add(WrongType, field, "%s of %s is %s, but must be %[5]s in %[4]s", inner, v.what, odd.from.Types(), to.of(path), odd.to.Types())
	}
}

// applied warns if a patch writes a field that Crossplane does not apply.
func (c *checker) applied(in source, field string, p *spec.Patch, path fieldpath.Path, r route) {
	status := path[0].Key == "status"
	switch {
	case r.to == inXR && !status && !in.legacy:
		meant := ""
		if r.from == inResource {
			meant = "type: " + strings.Replace(string(p.TypeOrDefault()), "To", "From", 1)
		}
		c.add(OutsideStatus, field, "a pipeline only changes the status of a composite resource, so %s is not applied%s", path, hint.DidYouMean(meant))
	case r.to == inResource && status:
		c.add(NotApplied, field, "the status of a composed resource is not applied")
	}
}

// observed checks the paths that connection details and readiness checks read
// from the existing resource.
func (c *checker) observed(at string, t *spec.Template, resource side) {
	for i, d := range t.ConnectionDetails {
		if d.Type == spec.FromFieldPath && d.FromFieldPath != nil {
			c.lookUp(fmt.Sprintf("%s.connectionDetails[%d].fromFieldPath", at, i), *d.FromFieldPath, resource)
		}
	}
	for i := range t.ReadinessChecks {
		c.ready(fmt.Sprintf("%s.readinessChecks[%d]", at, i), &t.ReadinessChecks[i], resource)
	}
}

// matches maps each type of readiness check to the types of values that it can match.
var matches = map[spec.ReadinessCheckType]schema.Types{
	spec.CheckNonEmpty: schema.Any, spec.CheckMatchString: schema.String, spec.CheckMatchInteger: schema.Integer,
	spec.CheckMatchTrue: schema.Boolean, spec.CheckMatchFalse: schema.Boolean,
}

func (c *checker) ready(at string, r *spec.ReadinessCheck, resource side) {
	if r.Type == spec.CheckMatchCondition {
		_, f := resource.find(fieldpath.Path{fieldpath.Key("status"), fieldpath.Key("conditions")}, false)
		c.fault(at+".type", f)
		return
	}
	wants, ok := matches[r.Type]
	if !ok || r.FieldPath == nil {
		return
	}
	v, ok := c.lookUp(at+".fieldPath", *r.FieldPath, resource)
	if ok && v.types&wants == 0 {
		c.add(WrongType, at+".fieldPath", "%s is %s, but %s requires %s", v.what, v.types, r.Type, wants)
	}
}
