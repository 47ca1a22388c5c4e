package patch

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/adler32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

func text(s *spec.String) TransformFunc {
	switch {
	case s.Type == spec.Format && s.Format != nil:
		return func(v any, b *Budget) (any, error) { return Sprintf(b, *s.Format, v) }
	case s.Type == spec.ConvertString && s.Convert != nil:
		return func(v any, b *Budget) (any, error) { return convertText(*s.Convert, v, b) }
	case s.Type == spec.TrimPrefix && s.Trim != nil:
		return onText(func(v string, _ *Budget) (any, error) { return strings.TrimPrefix(v, *s.Trim), nil })
	case s.Type == spec.TrimSuffix && s.Trim != nil:
		return onText(func(v string, _ *Budget) (any, error) { return strings.TrimSuffix(v, *s.Trim), nil })
	case s.Type == spec.RegexpMatch && s.Regexp != nil:
		return firstMatch(s.Regexp)
	case s.Type == spec.JoinList && s.Join != nil:
		return func(v any, b *Budget) (any, error) { return join(v, s.Join.Separator, b) }
	case s.Type == spec.ReplaceAll && s.Replace != nil:
		return onText(func(v string, b *Budget) (any, error) { return replace(v, s.Replace, b) })
	}
	if field, ok := stringFields[s.Type]; ok {
		return errorTransform(fmt.Errorf("string transform of type %s %s is not set", s.Type, field))
	}
	return errorTransform(fmt.Errorf("type %s is not supported for string transform type", s.Type))
}

// stringFields maps each type of string transform to the name of the field that
// it requires.
var stringFields = map[spec.StringType]string{
	spec.Format: "fmt", spec.ConvertString: "convert", spec.TrimPrefix: "trim", spec.TrimSuffix: "trim",
	spec.RegexpMatch: "regexp", spec.JoinList: "join", spec.ReplaceAll: "replace",
}

// onText returns a TransformFunc that converts its value with textOf and passes
// the text to f.
func onText(f func(string, *Budget) (any, error)) TransformFunc {
	return func(v any, b *Budget) (any, error) {
		s, err := textOf(v, b)
		if err != nil {
			return nil, err
		}
		return f(s, b)
	}
}

// textOf returns a string unchanged, and any other value formatted with %v.
func textOf(v any, b *Budget) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	return Sprintf(b, "%v", v)
}

func firstMatch(r *spec.Regexp) TransformFunc {
	expr, err := spec.CompilePattern(r.Match)
	if err != nil {
		return errorTransform(fmt.Errorf("could not compile regexp: %w", err))
	}
	group := 0
	if r.Group != nil {
		group = *r.Group
	}
	return onText(func(v string, _ *Budget) (any, error) {
		groups, err := expr.FindStringSubmatch(v)
		if err != nil {
			return nil, err
		}
		if group < 0 || group >= len(groups) {
			return nil, fmt.Errorf("regexp %q had no matches for group %d", r.Match, group)
		}
		return groups[group], nil
	})
}

// join concatenates the elements of a list, each followed by the separator. It
// then removes the last byte, even if the separator is longer, because
// function-patch-and-transform does that.
func join(v any, separator string, b *Budget) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("could not parse input array")
	}
	var joined strings.Builder
	for _, element := range list {
		s, err := textOf(element, b)
		if err != nil {
			return nil, err
		}
		if err := checkText(joined.Len() + len(s) + len(separator)); err != nil {
			return nil, err
		}
		joined.WriteString(s)
		joined.WriteString(separator)
	}
	if err := b.Spend(joined.Len()); err != nil {
		return nil, err
	}
	if separator == "" || len(list) == 0 {
		return joined.String(), nil
	}
	return joined.String()[:joined.Len()-1], nil
}

func replace(v string, r *spec.Replacement, b *Budget) (any, error) {
	n := strings.Count(v, r.Search)
	if err := b.spendText(len(v) + n*len(r.Replace)); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(v, r.Search, r.Replace), nil
}

func convertText(to string, v any, b *Budget) (any, error) {
	if f, ok := encodings[to]; ok {
		return onText(f)(v, b)
	}
	if f, ok := digests[to]; ok {
		raw, err := rawOf(v, b)
		if err != nil && to == "ToAdler32" {
			return nil, fmt.Errorf("unable to generate Adler checksum: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot generate hash: %w", err)
		}
		return f(raw), nil
	}
	if to == toJSON {
		raw, err := jsonOf(v, b)
		return string(raw), err
	}
	return nil, fmt.Errorf("type %s is not supported for string convert", to)
}

// ConvertsText reports whether name is a conversion of string transforms, such
// as "ToUpper".
func ConvertsText(name string) bool {
	return encodings[name] != nil || digests[name] != nil || name == toJSON
}

// noneToExpand begins the error for a path with a wildcard that matches nothing.
const noneToExpand = "cannot expand ToFieldPath "

// Advice returns the hint for an unknown conversion, or a wildcard that matches nothing, in the text of
// an error, or "".
func Advice(text string) string {
	if _, path, ok := strings.Cut(text, noneToExpand); ok {
		return "[*] stands for what exists, and nothing matches " + path + ": add the list to the base, or write an index, as in " + strings.ReplaceAll(path, "[*]", "[0]")
	}
	text, ok := strings.CutSuffix(text, " is not supported for string convert")
	if !ok {
		return ""
	}
	all := append(slices.Sorted(maps.Keys(encodings)), toJSON)
	all = slices.AppendSeq(all, maps.Keys(digests))
	slices.Sort(all)
	return hint.MeantOf(text[strings.LastIndex(text, " ")+1:], all)
}

const toJSON = "ToJson"

// encodings are the conversions that apply to the text of a value (textOf).
var encodings = map[string]func(string, *Budget) (any, error){
	"ToUpper": func(v string, b *Budget) (any, error) {
		// The text in upper case has at most three times the bytes of v.
		return strings.ToUpper(v), b.spendText(3 * len(v))
	},
	"ToLower": func(v string, b *Budget) (any, error) {
		return strings.ToLower(v), b.spendText(3 * len(v))
	},
	"ToBase64": func(v string, b *Budget) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(v)), b.spendText(base64.StdEncoding.EncodedLen(len(v)))
	},
	"FromBase64": func(v string, b *Budget) (any, error) {
		decoded, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, fmt.Errorf("string is not valid base64: %w", err)
		}
		return string(decoded), b.spendText(len(decoded))
	},
}

// digests are the conversions that hash a string, or the JSON of another value.
var digests = map[string]func([]byte) string{
	"ToSha1":   func(raw []byte) string { sum := sha1.Sum(raw); return hex.EncodeToString(sum[:]) },
	"ToSha256": func(raw []byte) string { sum := sha256.Sum256(raw); return hex.EncodeToString(sum[:]) },
	"ToSha512": func(raw []byte) string { sum := sha512.Sum512(raw); return hex.EncodeToString(sum[:]) },
	"ToAdler32": func(raw []byte) string {
		return strconv.FormatUint(uint64(adler32.Checksum(raw)), 10)
	},
}

func rawOf(v any, b *Budget) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	return jsonOf(v, b)
}

func jsonOf(v any, b *Budget) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot marshal to JSON: %w", err)
	}
	return raw, b.spendText(len(raw))
}
