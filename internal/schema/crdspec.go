package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// The values that the API server allows in printer columns.
var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

// rootKeywords are the Go names of the keywords that the API server allows in the schema of a version
// with a status.
const rootKeywords = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]"

// maxSelectable is the maximum number of selectable fields of a version.
const maxSelectable = 8

// decodeSpec returns the definition without its schemas as a CRD. ok is false if it does not decode,
// which the schema of its kind reports.
func (d *Definition) decodeSpec() (crd *extv1.CustomResourceDefinition, ok bool) {
	data, err := json.Marshal(d.slim)
	if err != nil {
		return nil, false
	}
	crd = &extv1.CustomResourceDefinition{}
	err = kjson.UnmarshalCaseSensitivePreserveInts(data, crd)
	return crd, err == nil
}

// checkSpec returns the errors that the API server finds in a definition outside of its schemas.
func (d *Definition) checkSpec() field.ErrorList {
	crd, ok := d.decodeSpec()
	if !ok {
		return nil
	}
	at := field.NewPath("spec")
	errs := slices.Concat(checkGroup(at.Child("group"), crd), checkScope(at.Child("scope"), crd.Spec.Scope), d.checkNames(crd), checkConversion(at.Child("conversion"), crd.Spec.Conversion))
	at = at.Child("versions")
	stored, names := 0, map[string]bool{}
	for i, v := range crd.Spec.Versions {
		errs = append(errs, d.versions[i].load().checkOutside(at.Index(i), v)...)
		if v.Storage {
			stored++
		}
		if names[v.Name] {
			errs = append(errs, field.Invalid(at.Index(i).Child("name"), v.Name, "must contain unique version names"))
		}
		names[v.Name] = true
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(at, field.OmitValueType{}, "must have exactly one version marked as storage version"))
	}
	return errs
}

// checkGroup returns the errors in the API group. Groups of Kubernetes need an annotation that
// says who approved them.
func checkGroup(at *field.Path, crd *extv1.CustomResourceDefinition) field.ErrorList {
	group := crd.Spec.Group
	if group == "" {
		return nil
	}
	errs := invalidText(at, group, "", validation.IsDNS1123Subdomain(group))
	if len(errs) == 0 && !strings.Contains(group, ".") {
		errs = append(errs, field.Invalid(at, group, "should be a domain with at least one dot"))
	}
	const approved = "api-approved.kubernetes.io"
	if group != "k8s.io" && group != "kubernetes.io" && !strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".kubernetes.io") {
		return errs
	}
	key, value := field.NewPath("metadata", "annotations").Key(approved), crd.Annotations[approved]
	if value == "" {
		return append(errs, field.Required(key, "protected groups must have approval annotation \""+approved+"\", see https://github.com/kubernetes/enhancements/pull/1111"))
	}
	if u, err := url.Parse(value); !strings.HasPrefix(value, "unapproved") && (err != nil || u.Host == "" || u.Scheme == "") {
		errs = append(errs, field.Invalid(key, value, "protected groups must have approval annotation \""+approved+"\" with either a URL or a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111"))
	}
	return errs
}

func checkScope(at *field.Path, scope extv1.ResourceScope) field.ErrorList {
	scopes := []extv1.ResourceScope{extv1.ClusterScoped, extv1.NamespaceScoped}
	switch {
	case scope == "":
		return field.ErrorList{field.Required(at, "")}
	case !slices.Contains(scopes, scope):
		return field.ErrorList{field.NotSupported(at, string(scope), scopes)}
	}
	return nil
}

func (d *Definition) checkNames(crd *extv1.CustomResourceDefinition) field.ErrorList {
	at, names := field.NewPath("spec", d.names), crd.Spec.Names
	label := func(at *field.Path, name, prefix string) field.ErrorList {
		if name == "" {
			return nil
		}
		text := name
		if prefix != "" {
			text = strings.ToLower(name)
		}
		return invalidText(at, name, prefix, validation.IsDNS1035Label(text))
	}
	const mixed = "may have mixed case, but should otherwise match: "
	errs := slices.Concat(label(at.Child("plural"), names.Plural, ""), label(at.Child("singular"), names.Singular, ""),
		label(at.Child("kind"), names.Kind, mixed), label(at.Child("listKind"), names.ListKind, mixed))
	for i, name := range names.ShortNames {
		errs = append(errs, invalidText(at.Child("shortNames").Index(i), name, "", validation.IsDNS1035Label(name))...)
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		errs = append(errs, field.Invalid(at.Child("listKind"), names.ListKind, "kind and listKind may not be the same"))
	}
	for i, name := range names.Categories {
		errs = append(errs, invalidText(at.Child("categories").Index(i), name, "", validation.IsDNS1035Label(name))...)
	}
	return errs
}

// invalidText returns an error with the reasons why a text is invalid, if there are any.
func invalidText(at *field.Path, text, prefix string, reasons []string) field.ErrorList {
	if len(reasons) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, text, prefix+strings.Join(reasons, ","))}
}

// checkConversion returns the errors in the conversion between versions. The address of the webhook
// may be missing, because Crossplane adds its own to the CRDs of packages.
func checkConversion(at *field.Path, c *extv1.CustomResourceConversion) field.ErrorList {
	if c == nil {
		return nil
	}
	strategies := []extv1.ConversionStrategyType{extv1.NoneConverter, extv1.WebhookConverter}
	webhook := at.Child("webhook")
	switch {
	case c.Strategy == "":
		return field.ErrorList{field.Required(at.Child("strategy"), "")}
	case !slices.Contains(strategies, c.Strategy):
		return field.ErrorList{field.NotSupported(at.Child("strategy"), c.Strategy, strategies)}
	case c.Strategy == extv1.NoneConverter && c.Webhook != nil:
		return field.ErrorList{field.Forbidden(webhook, "should not be set when strategy is not set to Webhook")}
	case c.Strategy == extv1.NoneConverter:
		return nil
	}
	var client extv1.WebhookClientConfig
	var versions []string
	if c.Webhook != nil {
		versions = c.Webhook.ConversionReviewVersions
		if c.Webhook.ClientConfig != nil {
			client = *c.Webhook.ClientConfig
		}
	}
	var errs field.ErrorList
	switch config := webhook.Child("clientConfig"); {
	case client.URL != nil && client.Service != nil:
		errs = append(errs, field.Required(config, "exactly one of url or service is required"))
	case client.URL != nil && !strings.HasPrefix(*client.URL, "https://"):
		errs = append(errs, field.Invalid(config.Child("url"), *client.URL, "'https' is the only allowed URL scheme"))
	}
	switch reviews := webhook.Child("conversionReviewVersions"); {
	case len(versions) == 0:
		errs = append(errs, field.Required(reviews, ""))
	case !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1"):
		errs = append(errs, field.Invalid(reviews, versions, "must include at least one of v1, v1beta1"))
	}
	return errs
}

// checkOutside returns the errors in a version outside of its schema. as is the version as it is
// written.
func (v version) checkOutside(at *field.Path, as extv1.CustomResourceDefinitionVersion) field.ErrorList {
	errs := invalidText(at.Child("name"), as.Name, "", validation.IsDNS1035Label(as.Name))
	if w := as.DeprecationWarning; w != nil && !as.Deprecated {
		errs = append(errs, field.Invalid(at.Child("deprecationWarning"), *w, "can only be set for deprecated versions"))
	}
	for i, c := range as.AdditionalPrinterColumns {
		errs = append(errs, checkColumn(at.Child("additionalPrinterColumns").Index(i), c)...)
	}
	if s := as.Subresources; s != nil && s.Scale != nil {
		errs = append(errs, checkScale(at.Child("subresources", "scale"), s.Scale)...)
	}
	if s := as.Subresources; s != nil && s.Status != nil {
		errs = append(errs, v.checkRoot()...)
	}
	return append(errs, v.checkSelectable(at.Child("selectableFields"), as.SelectableFields)...)
}

// checkRoot returns an error if the schema has keywords that are lost if the schema of the status
// is used alone.
func (v version) checkRoot() field.ErrorList {
	s := v.structural
	if s == nil {
		return nil
	}
	lost := s.Default.Object != nil || s.Nullable || s.XEmbeddedResource || s.XIntOrString || s.XListType != nil || s.XMapType != nil || len(s.XListMapKeys) > 0
	if vv := s.ValueValidation; vv != nil {
		lost = lost || vv.Enum != nil || vv.MaxProperties != nil || vv.MinProperties != nil || len(vv.AllOf)+len(vv.AnyOf)+len(vv.OneOf) > 0 || vv.Not != nil
	}
	if !lost {
		return nil
	}
	return field.ErrorList{field.Invalid(v.at, field.OmitValueType{}, "only "+rootKeywords+" fields are allowed at the root of the schema if the status subresource is enabled")}
}

func checkColumn(at *field.Path, c extv1.CustomResourceColumnDefinition) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	if oneOf := "must be one of " + strings.Join(columnTypes, ","); c.Type == "" {
		errs = append(errs, field.Required(at.Child("type"), oneOf))
	} else if !slices.Contains(columnTypes, c.Type) {
		errs = append(errs, field.Invalid(at.Child("type"), c.Type, oneOf))
	}
	if c.Format != "" && !slices.Contains(columnFormats, c.Format) {
		errs = append(errs, field.Invalid(at.Child("format"), c.Format, "must be one of "+strings.Join(columnFormats, ",")))
	}
	return append(errs, checkPath(at.Child("jsonPath"), c.JSONPath, ".", "")...)
}

// checkPath returns the error in a required JSON path that must begin with one of two prefixes. other may be "".
func checkPath(at *field.Path, path, prefix, other string) field.ErrorList {
	under := strings.TrimSuffix(prefix, ".")
	switch {
	case path == "":
		return field.ErrorList{field.Required(at, "")}
	case path[0] != '.':
		return field.ErrorList{field.Invalid(at, path, "must be a simple json path starting with .")}
	case strings.HasPrefix(path, prefix), other != "" && strings.HasPrefix(path, other):
		return nil
	case other != "":
		return field.ErrorList{field.Invalid(at, path, "should be a json path under either "+under+" or "+strings.TrimSuffix(other, "."))}
	}
	return field.ErrorList{field.Invalid(at, path, "should be a json path under "+under)}
}

func checkScale(at *field.Path, s *extv1.CustomResourceSubresourceScale) field.ErrorList {
	errs := checkPath(at.Child("specReplicasPath"), s.SpecReplicasPath, ".spec.", "")
	errs = append(errs, checkPath(at.Child("statusReplicasPath"), s.StatusReplicasPath, ".status.", "")...)
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		errs = append(errs, checkPath(at.Child("labelSelectorPath"), *p, ".spec.", ".status.")...)
	}
	return errs
}

func (v version) checkSelectable(at *field.Path, selectable []extv1.SelectableField) field.ErrorList {
	if v.structural == nil {
		return nil
	}
	var errs field.ErrorList
	known := map[string]bool{}
	for i, f := range selectable {
		at := at.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		path, schema, err := validFieldPath(f.JSONPath, v.structural, cel.WithFieldPathAllowArrayNotation(false))
		if err != nil {
			errs = append(errs, field.Invalid(at, f.JSONPath, fmt.Sprintf("is an invalid path: %v", err)))
			continue
		}
		if path.Root().String() == "metadata" {
			errs = append(errs, field.Invalid(at, f.JSONPath, "must not point to fields in metadata"))
		}
		if schema == nil || schema.Type != "string" && schema.Type != "boolean" && schema.Type != "integer" {
			errs = append(errs, field.Invalid(at, f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
		}
		if known[path.String()] {
			errs = append(errs, field.Duplicate(at, f.JSONPath))
		}
		known[path.String()] = true
	}
	if len(known) > maxSelectable {
		errs = append(errs, field.TooMany(at, len(known), maxSelectable))
	}
	return errs
}

// validFieldPath is cel.ValidFieldPath, without its panic for a field below additionalProperties: true.
func validFieldPath(path string, s *structural.Structural, options ...cel.ValidFieldPathOption) (at *field.Path, found *structural.Structural, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("does not refer to a valid field")
		}
	}()
	return cel.ValidFieldPath(path, s, options...)
}
