package xpkg

import (
	"context"
	"slices"

	"github.com/Masterminds/semver/v3"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
)

const ruleObject = "object"

// objects finds an object of Crossplane's kinds that the API server would refuse. Unknown
// fields and invalid schemas in XRDs are found by other rules. It may change d.data.
func objects(ctx context.Context, c content, d decoded, f *finder) {
	gvk := kschema.FromAPIVersionAndKind(d.APIVersion, d.Kind)
	release := newest(c.releases, d)
	def := release.Definition(gvk.GroupKind())
	if def == nil || !allowed(c.meta.Kind, d.Object) {
		return
	}
	if err := def.Serves(gvk.Version); err != nil {
		f.add(ruleObject, "apiVersion", "", "Crossplane %s does not serve kind %s of %s: %v", release, d.Kind, d.APIVersion, err)
		return
	}
	if schedule, ok := fieldpath.Map(d.data, "spec")["schedule"].(string); ok && gvk.GroupKind() == schema.CronOperation {
		if err := schema.CheckSchedule(schedule); err != nil {
			f.add(ruleObject, "spec.schedule", "", "Crossplane creates no Operation of the %s: spec.schedule is %v", d.Kind, err)
		}
	}
	found, err := def.Validate(ctx, d.data, schema.Options{Reuse: true})
	if err != nil {
		f.add(ruleObject, "", "", "validating the %s %q: %v", d.Kind, d.Name, err)
		return
	}
	for _, fault := range found {
		if !fault.Unknown && !fault.Unchecked && !inStatus(fault.Field) {
			f.add(ruleObject, fault.Field, "", "the API server refuses the %s: %s%s", d.Kind, fault, hint.DidYouMean(fault.Nearest))
		}
	}
}

// releases returns the releases of Crossplane whose minor version the package supports, the
// newest first. It returns all releases if the package has no valid constraint.
func releases(meta decoded) []schema.Release {
	all := schema.Releases()
	constraint, err := semver.NewConstraint(fieldpath.Text(meta.data, "spec", "crossplane", "version"))
	if err != nil {
		return all
	}
	return slices.DeleteFunc(all, func(r schema.Release) bool {
		version, err := semver.NewVersion(string(r))
		return err != nil || !admits(constraint, version.Major(), version.Minor())
	})
}

// newest returns the first of the releases that may have the object d. A Composition of
// mode Resources is validated by a release that has this mode, if there is one.
func newest(releases []schema.Release, d decoded) schema.Release {
	spec := fieldpath.Map(d.data, "spec")
	if fieldpath.Text(spec, "mode") == "Resources" || fieldpath.Text(spec, "mode") == "" && spec["resources"] != nil {
		if i := slices.IndexFunc(releases, schema.Release.Legacy); i >= 0 {
			return releases[i]
		}
	}
	if len(releases) == 0 {
		return schema.V2_3
	}
	return releases[0]
}

// once removes problems of ruleObject on lines for which another rule has a problem.
func once(found Problems) Problems {
	type line struct {
		path string
		line int
	}
	others := map[line]bool{}
	for _, p := range found {
		if p.Rule != ruleObject {
			others[line{p.Path, p.Line}] = true
		}
	}
	return slices.DeleteFunc(found, func(p Problem) bool { return p.Rule == ruleObject && others[line{p.Path, p.Line}] })
}
