package patch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// An Object is the target of patches. After each patch,
// function-patch-and-transform encodes the target as JSON and decodes it, which
// converts whole floats to integers. This package converts the whole target
// only after the first patch, and later only the written values.
type Object struct {
	// Fields contain values of JSON types. Patches change and replace the values.
	Fields map[string]any
	// Settled is true if Fields were decoded from JSON, so that they need no conversion.
	Settled bool
}

// set writes a copy of v to path. The values in the copy have the types of decoded JSON.
func (o *Object) set(path fieldpath.Path, v any, b *Budget) error {
	v, err := normal(v, b)
	if err != nil {
		return fmt.Errorf("cannot marshal value to JSON: %w", err)
	}
	if len(path) == 0 {
		return nil
	}
	nulls, err := path.Set(o.Fields, v)
	return cmp.Or(err, b.pad(nulls))
}

// settle must be called after each patch. It returns an error if HasKind is false, and
// otherwise converts the whole object if it is not settled.
func (o *Object) settle(b *Budget) error {
	if !HasKind(o.Fields) {
		text, err := json.Marshal(o.Fields)
		if err != nil {
			return err
		}
		return runtime.NewMissingKindErr(string(text))
	}
	if o.Settled {
		return nil
	}
	fields, err := normal(o.Fields, b)
	if err != nil {
		return fmt.Errorf("cannot marshal value to JSON: %w", err)
	}
	o.Fields, o.Settled = fields.(map[string]any), true
	return nil
}

// HasKind reports whether an object has a kind, and an apiVersion that is empty or valid.
// To function-patch-and-transform, an object with an invalid apiVersion has no kind.
func HasKind(fields map[string]any) bool {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	_, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && kind != ""
}

// valueSize is the approximate size of a value in bytes, without the text of a string.
const valueSize = 16

// normal returns a copy of v as if v was encoded as JSON and decoded: whole
// floats become integers if they fit, nil objects and lists become null, and strings become
// valid UTF-8.
func normal(v any, b *Budget) (any, error) {
	if err := b.Spend(valueSize); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("json: unsupported value: %v", v)
		}
		return fieldpath.Whole(v), nil
	case string:
		return fieldpath.ValidUTF8(v), b.Spend(len(v))
	case []any:
		if v == nil {
			return nil, nil
		}
		list := make([]any, len(v))
		for i, element := range v {
			var err error
			if list[i], err = normal(element, b); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if v == nil {
			return nil, nil
		}
		fields := make(map[string]any, len(v))
		for key, element := range v {
			element, err := normal(element, b)
			if err != nil {
				return nil, err
			}
			fields[fieldpath.ValidUTF8(key)] = element
		}
		return fields, b.Spend(len(v) * valueSize)
	default:
		return v, nil
	}
}

// MaxText limits the output of one transform, in bytes.
const MaxText = 16 << 20

// MaxTotal limits the output of all patches of one composite resource, in bytes.
const MaxTotal = 256 << 20

// MaxNulls limits the nulls with which the patches of one composite resource extend lists
// up to an index. A null has four bytes in a RunFunctionResponse. Crossplane accepts
// responses of at most 4 MiB, so it accepts no response with more nulls.
const MaxNulls = 1 << 20

// A Budget counts the output of the patches of one composite resource, and
// limits it to MaxTotal bytes and MaxNulls nulls.
type Budget struct {
	// Branch, if not nil, is called for each transform with several possible results: with
	// its index, and the path in it of the field that selects the result, such as "map.KEY".
	Branch func(transform int, field string)

	spent, nulls int
	// transform is the index of the transform that is running.
	transform int
}

// selected reports that the running transform selected the field with a path and a key.
func (b *Budget) selected(path, key string) {
	if b.Branch != nil {
		b.Branch(b.transform, path+key)
	}
}

// Spend subtracts n bytes from the budget. It returns an error if fewer bytes are left.
func (b *Budget) Spend(n int) error {
	if n < 0 || n > MaxTotal-b.spent {
		return fmt.Errorf("the output of the patches exceeds %d MiB", MaxTotal>>20)
	}
	b.spent += n
	return nil
}

// pad counts nulls that extend lists. It returns an error if there are more than MaxNulls.
func (b *Budget) pad(nulls int) error {
	if b.nulls += nulls; b.nulls > MaxNulls {
		return fmt.Errorf("the patches extend lists by more than %d nulls", MaxNulls)
	}
	return nil
}

// spendText is like Spend, for a text of n bytes. It returns an error if n exceeds MaxText.
func (b *Budget) spendText(n int) error {
	if err := checkText(n); err != nil {
		return err
	}
	return b.Spend(n)
}

func checkText(n int) error {
	if n < 0 || n > MaxText {
		return fmt.Errorf("the text could exceed %d MiB", MaxText>>20)
	}
	return nil
}

// Environment returns fields as an Object. It sets apiVersion and kind if both
// are missing or the apiVersion is invalid.
func Environment(fields map[string]any) Object {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	if gv, err := schema.ParseGroupVersion(apiVersion); err != nil || gv.WithKind(kind).Empty() {
		fields["apiVersion"], fields["kind"] = "internal.crossplane.io/v1alpha1", "Environment"
	}
	return Object{Fields: fields}
}
