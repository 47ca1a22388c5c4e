package xpkg

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A Level says which problems are errors.
type Level int

const (
	// Strict makes every problem an error, except those with Warning set. It is the zero value.
	Strict Level = iota
	// Warn makes a problem an error only if it has Refused set. The package
	// omits content that would not reach the control plane.
	Warn
	// Off makes the same problems errors as Warn, and omits the others.
	Off
	// All makes every problem an error, including those with Warning set.
	All
)

// ParseLevel returns the level of a name: strict, warn or off.
func ParseLevel(name string) (Level, error) {
	switch name {
	case "strict":
		return Strict, nil
	case "warn":
		return Warn, nil
	case "off":
		return Off, nil
	default:
		return Strict, fmt.Errorf("reading the lint level %q: expected strict, warn or off", name)
	}
}

// Apply returns the problems that are errors at the level as one error, sorted by file
// and line, and the others as warnings. At the level Off, it returns no warnings.
func (l Level) Apply(found Problems) (warnings Problems, err error) {
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	wrong := slices.DeleteFunc(slices.Clone(found), func(p Problem) bool { return !p.IsError(l) })
	if l != Off {
		warnings = slices.DeleteFunc(found, func(p Problem) bool { return p.IsError(l) })
	}
	if len(wrong) == 0 {
		return warnings, nil
	}
	for i, p := range wrong {
		if !p.Refused && !p.Warning {
			wrong[i].Hint = strings.TrimPrefix(p.Hint+", or build the package anyway with "+string(hint.Lint)+"=warn", ", or ")
		}
	}
	return warnings, wrong
}

// A Problem is an error in a package.
type Problem struct {
	Rule string
	// Refused is true if the package cannot be built, or the control plane would refuse it.
	// Other problems are content that is lost or cannot work.
	Refused bool
	// Warning is true for a problem that may be intended. It is an error only at the level All.
	Warning bool
	// Path and Line are the place of the problem. Line is 0 if it concerns the
	// whole file, and Path is empty if it concerns the whole package.
	Path string
	Line int
	// Field is the field of the object that has the problem, such as "spec.dependsOn[0].version".
	// It is "" if it is not known.
	Field string
	// Text describes the problem, and Hint is the next action, if one is known. A
	// hint names options in braces, such as {ignore} for ReadOptions.Ignore.
	Text, Hint string
}

// IsError reports whether the problem is an error at a level.
func (p Problem) IsError(l Level) bool { return p.Refused || l == All || l == Strict && !p.Warning }

// Err returns the problem as an error that begins with its place.
func (p Problem) Err() error {
	err := errors.New(p.Text)
	if p.Path != "" {
		err = &manifest.Error{Path: p.Path, Line: p.Line, Err: err}
	}
	if p.Hint == "" {
		return err
	}
	return hint.Wrap(err, p.Hint)
}

// Problems are the problems of a package. Read returns them as one error.
type Problems []Problem

// Error returns a line for each problem.
func (ps Problems) Error() string {
	if len(ps) == 0 {
		return ""
	}
	return errors.Join(ps.Unwrap()...).Error()
}

// Unwrap returns the error of each problem.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p.Err()
	}
	return errs
}

// A LintRule describes one lint rule, for help texts and documentation.
type LintRule struct {
	// Name is the value of Problem.Rule.
	Name string
	// Severity at the level Warn is "error", "warning", or "error or
	// warning" if it depends on the problem.
	Severity string
	// Finds says what the rule reports in at most 56 characters, for help texts.
	Finds string
	// Why says, in Markdown, what goes wrong if the problem stays.
	Why string
}

const (
	alwaysError     = "error"
	warnable        = "warning"
	errorOrWarnable = "error or warning"
)

// LintRules returns the rules for documents, metadata, objects and images.
func LintRules() []LintRule {
	return []LintRule{
		{"file", errorOrWarnable, "a file that cannot be read", "The file would be missing in the package. The problem is a warning if the path is not a regular file or if the folder of examples does not exist, and an error if reading fails."},
		{"link", errorOrWarnable, "a symbolic link that cannot be followed", "A broken link, or a link to a directory, would leave files out of the package. A link that leads out of the package root is always an error, because a package contains only files in its root."},
		{"size", alwaysError, "a YAML document that is too large", "The control plane limits how much it reads of a package."},
		{"syntax", alwaysError, "a document that is not valid YAML", "The control plane could not read `package.yaml`."},
		{"content-after-end", warnable, "text after the end of a YAML document", "Text after `...`, or a second object in the same document, would be lost without a message."},
		{"duplicate-key", warnable, "a key that occurs twice in an object", "The last value wins, so the first value would be lost without a message."},
		{"boolean-key", warnable, "a key such as y or on that YAML reads as a boolean", "Without quotes, `y`, `yes` and `on` are the key `true`, and `n`, `no` and `off` are the key `false`: YAML 1.1, which Kubernetes uses, reads them as booleans. The problem is a warning at most."},
		{"object-type", alwaysError, "a document without `apiVersion` or `kind`", "Every document of a package is a Kubernetes object with `apiVersion` and `kind`. An example needs a `kind`."},
		{"wrong-type", alwaysError, "a value of another type than its field", "The control plane could not decode the object."},
		{"unknown-field", warnable, "a field that the kind does not have", "Crossplane decodes the object without the field, so the value would be lost without a message. The usual cause is a spelling mistake. A field that Crossplane v2 removed, such as `spec.resources` of a Composition, is a warning at most, unless `spec.crossplane.version` excludes Crossplane v1."},

		{"metadata-count", alwaysError, "no package metadata object, or more than one", "A package has exactly one object of the group `meta.pkg.crossplane.io`, usually in `crossplane.yaml`."},
		{RuleMetadataName, warnable, "a package name that Kubernetes does not allow", "The name must be a DNS subdomain (RFC 1123): lower case letters, digits, `-` and `.`. In a project the problem is a warning."},
		{"crossplane-version", alwaysError, "`spec.crossplane` without a valid version constraint", "The control plane refuses to install a package with `spec.crossplane` but without a valid constraint that it satisfies, such as `>=v2.0.0-0`. The suffix `-0` accepts pre-releases of Crossplane, too. A single version, such as `v2.0.0`, is a warning, because no other release installs the package."},
		{"dependency-source", warnable, "a dependency that names no package, or several", "A dependency names one package: `provider`, `function` or `configuration`, or `apiVersion`, `kind` and `package` together. Without a package, nothing is installed. If it names several, Crossplane ignores all but one."},
		{"dependency-kind", warnable, "a dependency of a kind that no package has", "The control plane installs a dependency as an object of its `apiVersion` and `kind`. In the group `pkg.crossplane.io` these kinds are Configuration, Function and Provider. An object of any other kind cannot be created, so the package is never installed. A kind that differs from the name of the package, such as Provider for `function-auto-ready`, is a warning at most."},
		{RuleFunctionName, warnable, "a step that calls a dependency by a misspelled name", "The control plane installs the Function of a dependency under a name that it derives from the repository. A step that calls another name fails until a Function of that name is installed separately."},
		{RuleDependencyPackage, warnable, "a dependency that is not a plain repository", "The name needs the registry's host, because Crossplane v2 has no default registry. It has no tag and no digest, because the control plane adds them from `version`. In a project the problem is a warning."},
		{RuleDependencyVersion, warnable, "a version that is neither a constraint nor a digest", "The package manager resolves a version constraint, such as `>=v0.5.0`, or accepts a digest. It finds no version for anything else, `latest` included. In a project the problem is a warning."},
		{RuleDuplicateDependency, warnable, "two dependencies on the same package", "The package manager would try to satisfy both constraints at once. In a project the problem is a warning."},
		{"capability", warnable, "a repeated, misspelled or missing capability", "Crossplane looks capabilities up by name and ignores unknown names. A capability that is one letter away from a known one has no effect. Crossplane refuses Compositions that call a function whose capabilities lack `composition`; without a list it assumes this capability. A function with the capability `operation` gets a warning at most."},

		{"unknown-kind", alwaysError, "an object of a kind that no package can contain", "The control plane decodes only the kinds that packages can contain, and refuses a package with any other."},
		{"kind-not-allowed", alwaysError, "an object that this kind of package cannot contain", "A Configuration contains XRDs and Compositions, a Provider CRDs, MRDs and webhooks, a Function CRDs. The control plane refuses the package otherwise."},
		{"object-name", warnable, "a missing or invalid object name", "The API server would refuse the object. The name of a CRD, XRD or MRD must be `<plural>.<group>`."},
		{"duplicate-object", warnable, "two objects of the same group, kind and name", "One of the two would replace the other."},
		{"removed-api", warnable, "a CRD of `apiextensions.k8s.io/v1beta1`", "Kubernetes removed this version in 1.22, so no API server accepts the CRD."},
		{"schema", warnable, "a CRD, XRD or MRD that the API server would refuse", "These are names that are not DNS labels, a group without a dot, no or two stored versions, printer columns of an unknown type, and a schema that is not structural, has defaults that do not fit, or has CEL rules that do not compile. Required fields and printer columns of fields that the schema does not declare, and misspelled formats, are warnings."},
		{"object", warnable, "an object that the API server would refuse", "XRDs, Compositions, operations and policies must be valid by the CRDs of Crossplane: required fields, types, values and CEL rules. The CRDs come from the newest release that `spec.crossplane.version` allows. A Composition of mode Resources is validated by Crossplane v1 if the constraint allows that. Crossplane must be able to parse the schedule of a CronOperation."},
		{"composition", warnable, "a Composition that cannot compose", "The rules of Crossplane's documentation for pipelines, patches, transforms, readiness checks and connection details, and the schemas of the package's XRDs on both sides of each patch. Schemas that are not in the package are not needed. The apiVersion, kind and fields of inputs are checked, too. They are warnings at most if another function has the input's API group. An XRD for which the package has no Composition is a warning at most, because another package may have it."},
		{"cluster-role", warnable, "a composed kind that Crossplane may not compose", "Crossplane may compose managed and composite resources, its own kinds, and those kinds of Kubernetes that its Helm chart grants, such as Deployment. For any other kind it needs a ClusterRole with the label `rbac.crossplane.io/aggregate-to-crossplane: \"true\"`, which `xfn rbac` prints. A package cannot contain it. The rule looks for it in the YAML files of the package root and of the examples, and of a project's directories of APIs, examples and tests. It is a warning at most, and checks the templates of function-patch-and-transform of a package root or project, without a render. A kind that is not one of Kubernetes is reported only if there are no dependencies on Providers and Configurations, which may define it."},
		{"example", warnable, "an example that the package's schemas do not allow", "Users copy examples. An example, or the input of a pipeline step in one, must validate against the CRDs and XRDs of the package: version, unknown fields, types, values and CEL rules."},

		{"digest", alwaysError, "a layer with another digest than its manifest", "The layer is damaged, so registries and container runtimes refuse it."},
		{"diff-id", warnable, "a layer that the image config does not describe", "A container runtime compares the unpacked layer with the config's `rootfs.diff_ids`, and refuses to unpack the image if they differ."},
		{"layer", warnable, "a layer that is not a tar archive", "A container runtime could not unpack the image."},
		{"layer-mark", warnable, "a label and an annotation that disagree", "Crossplane finds the layers of a package by their annotations. Tools that do not know packages lose annotations but keep the labels of the config, so a difference shows that such a tool copied the package."},
		{"base-layer", warnable, "more than one base layer", "The control plane reads `package.yaml` only from the first layer annotated `io.crossplane.xpkg: base`."},
		{"package-yaml", alwaysError, "a missing `package.yaml`, or different ones", "All images of one package, one for each platform, must deliver the same objects."},
		{"runtime", warnable, "a runtime image that no cluster can run", "Nothing runs the runtime image of a Configuration. A Function or Provider needs an image for linux."},
		{"platform", errorOrWarnable, "platforms that are missing, repeated or wrong", "The control plane reads a package from its image for linux/amd64, so an index without it is an error. If a platform occurs twice, is missing, or is not the one in the image config, clients cannot pull the image or pull the wrong one."},
	}
}
