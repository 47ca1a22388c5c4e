package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// A givenKey identifies the check of a document: what the document is for, and the release of
// Crossplane.
type givenKey struct {
	doc, what string
	release   schema.Release
}

// A givenCheck returns the reasons why an API server would refuse the object in doc or, as a
// strictError, why the object has no effect.
type givenCheck func(ctx context.Context, doc manifest.Document, release schema.Release) []error

// A strictError is an error only in strict renders.
type strictError struct{ error }

// A decodeError is an error in every render.
type decodeError struct{ error }

// given reads the objects in files and folders, as Objects does, and checks them.
func (s *Session) given(ctx context.Context, in Inputs, what string, paths []string, check givenCheck) ([]*unstructured.Unstructured, error) {
	docs, err := documents(ctx, s.config.Reader, what, paths)
	if err != nil {
		return nil, err
	}
	all, err := objectsIn(what, docs)
	if err == nil {
		err = s.checkGiven(ctx, in, what, docs, check)
	}
	return all, err
}

// checkGiven checks the documents that the user gives as objects of a cluster. It returns what
// check finds if in.Strict is set, or the refusals if in.Invalid is RefuseInvalid, and otherwise
// what cannot be decoded, and warns of the rest.
func (s *Session) checkGiven(ctx context.Context, in Inputs, what string, docs []manifest.Document, check givenCheck) error {
	var errs []error
	for _, doc := range docs {
		key := givenKey{doc.Key(), what, Release(in.Profile)}
		// Other renders use the result even if ctx is done.
		found := s.faults.Get(key, func() []error { return check(context.WithoutCancel(ctx), doc, key.release) })
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, err := range found {
			_, suspect := err.(strictError)
			bad, isBad := err.(decodeError)
			if isBad {
				errs = append(errs, bad.error)
			} else if in.Strict || in.Invalid == RefuseInvalid && !suspect {
				errs = append(errs, err)
			} else {
				s.once.Warn(err.Error())
			}
		}
	}
	return errors.Join(errs...)
}

// checkRequired is a givenCheck of resources that functions may require.
func checkRequired(ctx context.Context, doc manifest.Document, release schema.Release) (errs []error) {
	v := validate.New(nil, validate.Options{Namespace: validate.DefaultNamespace, Crossplane: release})
	for _, r := range v.Document(ctx, doc) {
		at := manifest.Position(doc.Path, r.Line)
		switch {
		case r.Nearest != "":
			errs = append(errs, fmt.Errorf("%s: no function can require the unknown kind %s%s", at, r.Kind, hint.DidYouMean(r.Nearest)))
		case r.Name == "":
			errs = append(errs, fmt.Errorf("%s: an API server has no %s without metadata.name", at, r.Kind))
		default:
			errs = append(errs, r.Refusals(at)...)
		}
	}
	return append(errs, withoutData(doc)...)
}

// withoutData returns a strictError if the object in doc is an EnvironmentConfig without data, which an
// API server accepts, and function-environment-configs does not.
func withoutData(doc manifest.Document) []error {
	obj, err := doc.Object()
	u := unstructured.Unstructured{Object: obj}
	if err != nil || u.GetKind() != "EnvironmentConfig" || u.GroupVersionKind().Group != compositionKind.Group || obj["data"] != nil {
		return nil
	}
	return []error{strictError{fmt.Errorf("%s: this EnvironmentConfig has no data for an environment", doc.PositionOf("data"))}}
}

// checkMetadata is a givenCheck of observed resources. Only their metadata is validated, because
// their kinds may be newer than the kinds that this program knows.
func checkMetadata(_ context.Context, doc manifest.Document, _ schema.Release) []error {
	obj, err := doc.Object()
	if err != nil {
		return nil
	}
	kind, _ := obj["kind"].(string)
	return metadataErrors(doc, obj, kind)
}

// metadataErrors returns the faults in the metadata of obj, the object in doc, and in its keys.
// what names the object in messages.
func metadataErrors(doc manifest.Document, obj map[string]any, what string) []error {
	errs := refusals(doc, schema.AnyMetadata(obj), what)
	for _, at := range doc.BooleanKeys() {
		errs = append(errs, at)
	}
	return errs
}

// refusals returns the faults of the object in doc as errors. what names the object in them.
func refusals(doc manifest.Document, faults []schema.Fault, what string) (errs []error) {
	for _, f := range faults {
		text := fmt.Sprintf("an API server refuses this %s: %s", what, f)
		if f.Unknown {
			text = fmt.Sprintf("%s has no field %s, which an API server drops", hint.An(what), f.Field)
		}
		errs = append(errs, doc.ErrorOf(f.Field, errors.New(text+hint.DidYouMean(f.Nearest))))
	}
	return errs
}

// checkFunction is a givenCheck of Functions. The package of a Function is not validated, because
// it may be a path. A Function with only a package needs no CRD, whose decoding takes milliseconds.
func checkFunction(ctx context.Context, doc manifest.Document, release schema.Release) (errs []error) {
	obj, err := doc.Object()
	if err != nil {
		return nil
	}
	errs = metadataErrors(doc, obj, "Function")
	spec, _ := obj["spec"].(map[string]any)
	if _, ok := spec["package"]; ok && len(spec) == 1 || len(spec) == 0 {
		return errs
	}
	v := validate.New(nil, validate.Options{Crossplane: release})
	for _, r := range v.Document(ctx, doc) {
		for _, f := range r.Faults {
			if strings.HasPrefix(f.Field, "spec.") && f.Field != "spec.package" {
				errs = append(errs, fmt.Errorf("%s: an API server refuses this %s: %s", manifest.Position(doc.Path, f.Line), r.Kind, f))
			}
		}
	}
	return errs
}

// checkCredentials is a givenCheck of credentials of functions, which only Secrets have. Like the
// crossplane CLI, it refuses a Secret that cannot be decoded.
func checkCredentials(ctx context.Context, doc manifest.Document, release schema.Release) (errs []error) {
	objs, _, err := decodeAll(doc)
	if err != nil {
		return nil
	}
	secret := corev1.SchemeGroupVersion.WithKind("Secret")
	for _, u := range objs {
		if gvk := u.GroupVersionKind(); gvk != secret {
			text := fmt.Sprintf("%s: no function gets credentials from this %s of apiVersion %q, only from a Secret of apiVersion v1", manifest.Position(doc.Path, doc.FirstLine()), gvk.Kind, u.GetAPIVersion())
			errs = append(errs, errors.New(text+hint.DidYouMean(hint.Nearest(gvk.Kind, []string{secret.Kind}))))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	errs = checkRequired(ctx, doc, release)
	if slices.ContainsFunc(objs, func(u *unstructured.Unstructured) bool {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &corev1.Secret{}) != nil
	}) {
		for i, err := range errs {
			errs[i] = decodeError{err}
		}
	}
	return errs
}

// checkContext warns of mistakes in the context: a key that is similar to the key of the
// environment, and an environment that is not an object.
func (s *Session) checkContext(in Inputs, fields map[string]any) {
	for key, value := range fields {
		text := ""
		_, isObject := value.(map[string]any)
		switch {
		case key == sdk.EnvironmentKey && !isObject:
			text = fmt.Sprintf("%q must be an object, got %s: functions use an empty environment", key, manifest.DescribeValue(value))
		case key != sdk.EnvironmentKey && (key == "environment" || hint.Misspelled(key, []string{sdk.EnvironmentKey}) != ""):
			text = fmt.Sprintf("%q is not the key of the environment%s", key, hint.DidYouMean(sdk.EnvironmentKey))
		default:
			continue
		}
		s.once.Warn(cmp.Or(in.ContextAt[key], "context: ") + text)
	}
}
