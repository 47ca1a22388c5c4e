package xpkg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	xpv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv1alpha1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1alpha1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	metav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	metav1alpha1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1alpha1"
	metav1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1beta1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/schema"
)

// content has the decoded documents of a package, without those that cannot be decoded.
type content struct {
	// meta is the first package metadata object, or the zero value.
	meta decoded
	// objects are all objects except the metadata. Examples may be of any kind.
	objects, examples []decoded

	// requiresV2 is true if the package excludes Crossplane v1. releases are the releases that it
	// supports, the newest first. lint sets both.
	requiresV2 bool
	releases   []schema.Release
}

// encode returns package.yaml, or the cause if ctx is done. The YAML needs more memory than the files,
// so encode is called when nothing needs these any more.
func (c content) encode(ctx context.Context) ([]byte, error) {
	parts := [][]byte{c.meta.kept}
	for _, d := range c.objects {
		parts = append(parts, d.kept)
	}
	errs := make([]error, len(parts))
	err := severalAtOnce(ctx, len(parts), func(i int) int64 { return int64(len(parts[i])) }, func(i int) {
		parts[i], errs[i] = manifest.JSONToYAML(parts[i])
	})
	if err = cmp.Or(err, errors.Join(errs...)); err != nil {
		return nil, err
	}
	return bytes.Join(slices.Concat([][]byte{nil}, parts, [][]byte{nil}), []byte("---\n")), nil
}

// assemble finds the one metadata object of a package, and checks that this kind of
// package can contain the other objects. In problems, where names the package. If broken
// is true, assemble does not report missing metadata, because a document that could not
// be decoded may be the metadata.
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
			Hint: "write a crossplane.yaml with apiVersion: " + metaGroup + "/v1, and kind: Configuration, Function or Provider; or name the directory that has one",
		}}
	}
	c.meta = metas[0]
	if len(metas) > 1 {
		const most = 5
		var at []string
		for _, m := range metas[:min(len(metas), most)] {
			at = append(at, fmt.Sprintf("%s (%s %s)", m.Position(), m.Kind, m.Name))
		}
		if len(metas) > most {
			at = append(at, fmt.Sprintf("and %d more", len(metas)-most))
		}
		return c, Problems{{
			Rule: "metadata-count", Refused: true,
			Text: fmt.Sprintf("%s contains %d package metadata objects, and must contain one: %s", where, len(metas), strings.Join(at, ", ")),
			Hint: string("leave files out with " + hint.Ignore + ", or move them out of the package root"),
		}}
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

// A lintRule checks each object of a package alone, or the package as a whole. One field is nil.
// Several goroutines call each at the same time.
type lintRule struct {
	each  func(context.Context, content, decoded, *finder)
	whole func(context.Context, content, *finder)
}

// rules check the decoded documents of a package. LintRules describes them.
var rules = []lintRule{
	{whole: crossplaneVersion},
	{whole: dependencies},
	{whole: calledFunctions},
	{whole: capabilities},
	{each: removedFields},
	{whole: metadataName},
	{each: objectName},
	{whole: duplicates},
	{each: removedAPI},
	{each: schemas},
	{each: objects}, // It may change the object, so no rule after it checks each object.
	{whole: examples},
}

// A Rule finds problems in the objects of a package, without its metadata. Read
// and Lint call it after their own rules. A Rule returns early once ctx is done.
type Rule func(ctx context.Context, objects []Document) Problems

// A Document is an object of a package and its YAML.
type Document struct {
	Object
	// Text is the YAML document without its "---" line, and TextLine the
	// line of the file on which Text begins. If Text begins with comments,
	// the object's Line is later than TextLine.
	Text     []byte
	TextLine int
	// JSON is the object as JSON, unless Text has a duplicate key.
	JSON []byte
}

// lint returns the problems that all rules find, or the cause if ctx is done. report gets the bytes of
// JSON that the rules for single objects have checked. It may be nil.
func lint(ctx context.Context, c content, others []Rule, report func(text string, done, total int64)) (Problems, error) {
	c.requiresV2, c.releases = requiresV2(c.meta.data), releases(c.meta)
	// The problems of each object, by the index of the rule.
	each := make([][]Problems, len(c.objects))
	size := func(i int) int64 { return int64(len(c.objects[i].json)) }
	m := meter{Counter: progress.Counter{Text: "checking the objects", Report: progress.FromPlain(report)}}
	for i := range c.objects {
		m.Total += size(i)
	}
	err := severalAtOnce(ctx, len(each), size, func(i int) {
		each[i] = c.lintObject(ctx, c.objects[i])
		m.add(int(size(i)))
	})
	m.finish()
	if err != nil {
		return nil, err
	}
	var f finder
	for i, r := range rules {
		if r.whole != nil {
			r.whole(ctx, c, &f)
			continue
		}
		for _, found := range each {
			f.found = append(f.found, found[i]...)
		}
	}
	var documents []Document
	if len(others) > 0 {
		for _, d := range c.objects {
			documents = append(documents, Document{Object: d.Object, Text: d.doc.Text, TextLine: d.doc.Line, JSON: d.doc.JSON})
		}
	}
	for _, r := range others {
		f.found = append(f.found, r(ctx, documents)...)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return once(f.found), nil
}

// lintObject returns the problems that rules find in one object, by the index of the rule.
func (c content) lintObject(ctx context.Context, d decoded) []Problems {
	found := make([]Problems, len(rules))
	var err error
	if d.data, err = d.value(); err != nil {
		found[0] = Problems{problem("syntax", d.doc, err)}
		return found
	}
	for i, r := range rules {
		if r.each != nil && ctx.Err() == nil {
			var f finder
			f.in(d)
			r.each(ctx, c, d, &f)
			found[i] = f.found
		}
	}
	return found
}

// A finder collects problems of fields in its current document, which in sets.
type finder struct {
	found Problems
	doc   manifest.Document
	lines *manifest.Lines
}

// in sets the document that the next problems are about.
func (f *finder) in(d decoded) { f.doc, f.lines = d.doc, nil }

// add adds a problem of a field of the current document, with Refused false. Callers can change the
// result until the next problem is added.
func (f *finder) add(rule, field, hint, text string, args ...any) *Problem {
	if f.lines == nil {
		lines := f.doc.Lines()
		f.lines = &lines
	}
	p := Problem{
		Rule: rule, Path: f.doc.Path, Line: f.lines.Of(field), Field: field,
		Text: oci.Redact(fmt.Sprintf(text, args...)), Hint: hint,
	}
	if hint == "" && strings.Contains(p.Text, "boolean") && strings.Contains(p.Text, "string") {
		p.Hint = string(f.lines.Boolean(field))
	}
	f.found = append(f.found, p)
	return &f.found[len(f.found)-1]
}

const (
	metaGroup     = "meta.pkg.crossplane.io"
	function      = "Function"
	configuration = "Configuration"
	provider      = "Provider"
)

type typeMeta struct{ apiVersion, kind string }

// A kind describes a Kubernetes kind: the Go type that encodes it, and the
// kinds of package that can contain it.
type kind struct {
	new func() any
	in  []string
}

func of[T any](in ...string) kind {
	return kind{new: func() any { return new(T) }, in: in}
}

// otherVersion returns the first apiVersion of the same group in which a package can contain a
// kind, or "".
func otherVersion(apiVersion, kind string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	var found []string
	for k := range kinds {
		if k.kind == kind && strings.HasPrefix(k.apiVersion, group+"/") {
			found = append(found, k.apiVersion)
		}
	}
	return slices.Min(append(found, "")[:max(len(found), 1)])
}

// kinds are the kinds that the control plane of Crossplane v2 reads from packages.
var kinds = map[typeMeta]kind{
	{metaGroup + "/v1", function}:            of[metav1.Function](function),
	{metaGroup + "/v1beta1", function}:       of[metav1beta1.Function](function),
	{metaGroup + "/v1", configuration}:       of[metav1.Configuration](configuration),
	{metaGroup + "/v1alpha1", configuration}: of[metav1alpha1.Configuration](configuration),
	{metaGroup + "/v1", provider}:            of[metav1.Provider](provider),
	{metaGroup + "/v1alpha1", provider}:      of[metav1alpha1.Provider](provider),

	{"apiextensions.k8s.io/v1", "CustomResourceDefinition"}:      of[extv1.CustomResourceDefinition](function, provider),
	{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"}: of[extv1beta1.CustomResourceDefinition](function, provider),

	{"apiextensions.crossplane.io/v1", "CompositeResourceDefinition"}:           of[xpv1.CompositeResourceDefinition](configuration),
	{"apiextensions.crossplane.io/v2", "CompositeResourceDefinition"}:           of[xpv2.CompositeResourceDefinition](configuration),
	{"apiextensions.crossplane.io/v1", "Composition"}:                           of[xpv1.Composition](configuration),
	{"apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy"}: of[xpv1alpha1.ManagedResourceActivationPolicy](configuration),
	{"ops.crossplane.io/v1alpha1", "Operation"}:                                 of[opsv1alpha1.Operation](configuration),
	{"ops.crossplane.io/v1alpha1", "CronOperation"}:                             of[opsv1alpha1.CronOperation](configuration),
	{"ops.crossplane.io/v1alpha1", "WatchOperation"}:                            of[opsv1alpha1.WatchOperation](configuration),

	{"apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition"}: of[xpv1alpha1.ManagedResourceDefinition](provider),
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"}:   of[admissionv1.MutatingWebhookConfiguration](provider),
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"}: of[admissionv1.ValidatingWebhookConfiguration](provider),
}

func isMeta(o Object) bool { return strings.HasPrefix(o.APIVersion, metaGroup+"/") }

// allowed reports whether a package of kind pkg can contain o.
func allowed(pkg string, o Object) bool {
	return slices.Contains(kinds[typeMeta{o.APIVersion, o.Kind}].in, pkg)
}

// allowedHint lists the kinds that a package of kind pkg can contain.
func allowedHint(pkg string) string {
	var names []string
	for t, k := range kinds {
		if slices.Contains(k.in, pkg) && !strings.HasPrefix(t.apiVersion, metaGroup) {
			names = append(names, t.kind)
		}
	}
	slices.Sort(names)
	return fmt.Sprintf("Besides its metadata, a %s package can contain %s.", pkg, strings.Join(slices.Compact(names), ", "))
}
