package suite

import (
	"maps"
	"math"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

type valueMaker struct {
	*rand.Rand
	// optional is how likely an optional field is present.
	optional float64
	// literals and seen are values that rules may compare with others.
	literals, seen []any
}

// Limits of values: the number of elements of a list, the length of a text, and the depth from
// which optional fields are absent.
const (
	maxElements = 4
	maxText     = 1024
	maxDepth    = 12
)

// keys returns the fields of an object that will be present, sorted.
func (m *valueMaker) keys(schema map[string]any) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(fieldpath.Map(schema, "properties"))) {
		if listHas(schema["required"], key) || m.Float64() < m.optional {
			all = append(all, key)
		}
	}
	return slices.DeleteFunc(all, func(key string) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, key) && schema["x-kubernetes-embedded-resource"] == nil
	})
}

// name returns a name for the resource n. Names of at least 60 characters show where the ends of
// names are lost.
func (m *valueMaker) name(n int) string {
	switch {
	case n > 1 && m.IntN(8) == 0:
		return strings.Repeat("a", 63)
	case n > 1 && m.IntN(8) == 0:
		return strconv.Itoa(m.IntN(10))
	}
	return "xr-" + strconv.Itoa(n)
}

func (m *valueMaker) value(schema map[string]any, depth int) any {
	schema = m.choose(schema)
	if enum := fieldpath.List(schema, "enum"); len(enum) > 0 {
		return enum[m.IntN(len(enum))]
	}
	if schema["nullable"] == true && m.IntN(8) == 0 {
		return nil
	}
	typeOf, _ := schema["type"].(string)
	if schema["x-kubernetes-int-or-string"] == true {
		typeOf = []string{"integer", "string"}[m.IntN(2)]
	}
	switch typeOf {
	case "boolean":
		return m.IntN(2) == 0
	case "integer", "number":
		return m.remember(m.number(schema, typeOf == "integer"))
	case "string":
		return m.remember(m.text(schema))
	case "array":
		return m.elements(schema, depth)
	default:
		return m.fields(schema, depth)
	}
}

func (m *valueMaker) remember(v any) any {
	m.seen = append(m.seen, v)
	return v
}

// reuse returns a constant of a rule or a value of another field, if it has the wanted type.
func reuse[T any](m *valueMaker) (v T, ok bool) {
	if m.IntN(5) > 0 || m.optional == 0 {
		return v, false
	}
	var all []T
	for _, known := range [][]any{m.literals, m.seen}[m.IntN(2)] {
		if v, ok := known.(T); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return v, false
	}
	return all[m.IntN(len(all))], true
}

// choose returns a schema merged with all schemas of its allOf, one schema of its anyOf, and
// one schema of its oneOf.
func (m *valueMaker) choose(schema map[string]any) map[string]any {
	for _, all := range fieldpath.List(schema, "allOf") {
		schema = mergeSchemas(schema, m.choose(fieldpath.Map(all)))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if some := fieldpath.List(schema[key]); len(some) > 0 {
			schema = mergeSchemas(schema, m.choose(fieldpath.Map(some[m.IntN(len(some))])))
		}
	}
	return schema
}

func mergeSchemas(a, b map[string]any) map[string]any {
	both := maps.Clone(a)
	for key, v := range b {
		switch was := a[key]; {
		case key == "properties" && was != nil:
			fields := maps.Clone(fieldpath.Map(was))
			for name, below := range fieldpath.Map(v) {
				fields[name] = mergeSchemas(fieldpath.Map(fields[name]), fieldpath.Map(below))
			}
			both[key] = fields
		case key == "required":
			both[key] = slices.Concat(fieldpath.List(was), fieldpath.List(v))
		default:
			if both == nil {
				both = map[string]any{}
			}
			both[key] = v
		}
	}
	return both
}

func (m *valueMaker) fields(schema map[string]any, depth int) any {
	out := map[string]any{}
	if depth > maxDepth {
		was := m.optional
		m.optional = 0
		defer func() { m.optional = was }()
	}
	for _, key := range m.keys(schema) {
		out[key] = m.value(propertySchema(schema, key), depth+1)
	}
	if below := fieldpath.Map(schema, "additionalProperties"); below != nil {
		keys := []string{"a", "key-1", "example.org/b", "c_d", "E"}
		for _, i := range m.Perm(len(keys))[:m.size(schema, "minProperties", "maxProperties", 2)] {
			out[keys[i]] = m.value(below, depth+1)
		}
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		out["apiVersion"], out["kind"], out["metadata"] = "example.org/v1", "Example", map[string]any{"name": "a"}
	} else if len(out) == 0 && schema["x-kubernetes-preserve-unknown-fields"] == true && m.IntN(2) == 0 {
		out["key"] = "value"
	}
	return out
}

func (m *valueMaker) elements(schema map[string]any, depth int) any {
	out := make([]any, m.size(schema, "minItems", "maxItems", maxElements))
	for i := range out {
		out[i] = m.value(fieldpath.Map(schema, "items"), depth+1)
	}
	return out
}

// size returns a number of elements: often a boundary, and at most limit more than the minimum.
func (m *valueMaker) size(schema map[string]any, least, most string, limit int) int {
	low, _ := fieldpath.Float(schema[least])
	high, ok := fieldpath.Float(schema[most])
	from, to := int(low), int(low)+limit
	if ok {
		to = min(to, max(int(high), 0))
	}
	if m.optional == 1 && to > 0 {
		from = max(from, 1)
	}
	if m.optional == 0 || to <= from {
		return min(from, 5)
	}
	return min([]int{from, from + 1, to, from + m.IntN(to-from+1)}[m.IntN(4)], to, 5)
}

// number returns a number: often a boundary.
func (m *valueMaker) number(schema map[string]any, whole bool) any {
	low, hasLow := fieldpath.Float(schema["minimum"])
	high, hasHigh := fieldpath.Float(schema["maximum"])
	if !hasLow {
		low = min(-math.MaxInt32, high)
	}
	if !hasHigh {
		high = max(math.MaxInt32, low)
	}
	all := []float64{0, 1, 2, -1, 10, 1000, low, low + 1, high, high - 1, math.Round(low + m.Float64()*(high-low))}
	if !whole {
		all = append(all, 0.5, low+0.5)
	}
	all = slices.DeleteFunc(all, func(f float64) bool { return f < low || f > high })
	f := low
	if len(all) > 0 {
		f = all[m.IntN(len(all))]
	}
	if step, ok := fieldpath.Float(schema["multipleOf"]); ok && step > 0 {
		f = math.Ceil(f/step) * step
	}
	if v, ok := reuse[int64](m); ok {
		return v
	}
	if whole || f == math.Trunc(f) {
		return int64(f)
	}
	return f
}

// oddTexts are strings that often break templates, names, and values of YAML without quotes.
var oddTexts = []string{
	"a", "us-east-1", "", "A b", "true", "0", "1e3", "null", "x: y", "- a", "#", "it's", `"quoted"`, `back\slash`, "{{ .a }}",
	"two\nlines", "é", "日本", "a/b.c_d", " ", "*", "%s", strings.Repeat("x", 64),
}

var formatTexts = map[string][]string{
	"date": {"2024-02-29", "1970-01-01"}, "date-time": {"2024-02-29T12:00:00Z", "1970-01-01T00:00:00+01:00"},
	"datetime": {"2024-02-29T12:00:00Z"}, "duration": {"1s", "720h"}, "email": {"a@example.org"}, "hostname": {"a", "a.example.org"},
	"ipv4": {"0.0.0.0", "10.1.2.3"}, "ipv6": {"::", "2001:db8::1"}, "cidr": {"10.0.0.0/8", "2001:db8::/32"}, "mac": {"01:23:45:67:89:ab"},
	"uri": {"https://example.org/a?b=c", "a:b"}, "uuid": {"123e4567-e89b-12d3-a456-426614174000"}, "byte": {"", "YQ=="}, "hexcolor": {"#0af"},
}

// text returns a string that matches the pattern or format of the schema, or otherwise a string
// that is often mishandled.
func (m *valueMaker) text(schema map[string]any) string {
	least, _ := fieldpath.Float(schema["minLength"])
	most, bounded := fieldpath.Float(schema["maxLength"])
	if !bounded || most > maxText {
		most = max(maxText, least)
	}
	if v, ok := reuse[string](m); ok {
		return v
	}
	format, _ := schema["format"].(string)
	pattern, _ := schema["pattern"].(string)
	switch known := formatTexts[format]; {
	case known != nil:
		return known[m.IntN(len(known))]
	case pattern != "":
		return m.matching(pattern, int(least), int(most))
	}
	text := []rune(oddTexts[m.IntN(len(oddTexts))])
	if m.optional == 0 {
		text = []rune(oddTexts[0])
	}
	if bounded && m.IntN(6) == 0 { // The maximum length.
		text = append(text, []rune(strings.Repeat("z", int(most)))...)
	}
	if missing := int(least) - len(text); missing > 0 {
		text = append(text, []rune(strings.Repeat("b", min(missing, 1<<16)))...)
	}
	return string(text[:min(len(text), int(most))])
}

// celLiteral matches a constant in a CEL rule.
var celLiteral = proc.Regexp(`'([^'\\]*)'|"([^"\\]*)"|\b[0-9]+\b`)

func celLiterals(v any) (all []any) {
	switch v := v.(type) {
	case map[string]any:
		for _, rule := range fieldpath.List(v, "x-kubernetes-validations") {
			for _, match := range celLiteral().FindAllStringSubmatch(fieldpath.Text(rule, "rule"), -1) {
				if n, err := strconv.ParseInt(match[0], 10, 64); err == nil {
					all = append(all, n, n+1)
				} else {
					all = append(all, match[1]+match[2])
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, celLiterals(v[key])...)
		}
	case []any:
		for _, e := range v {
			all = append(all, celLiterals(e)...)
		}
	}
	return all
}

// matching returns a string that a regular expression matches. It tries to keep the limits of its
// length, in characters.
func (m *valueMaker) matching(pattern string, least, most int) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	best := ""
	for range 20 {
		b := &strings.Builder{}
		m.match(b, re, max(least, 3))
		best = b.String()
		if n := len([]rune(best)); n >= least && n <= most {
			return best
		}
	}
	return best
}

// match adds a string that re matches. extra is how often a repetition without a maximum
// repeats more than its minimum, at most.
func (m *valueMaker) match(b *strings.Builder, re *syntax.Regexp, extra int) {
	repeat := func(from, to int) {
		if to < 0 {
			to = from + min(extra, maxText)
		}
		for range from + m.IntN(max(to-from, 0)+1) {
			if b.Len() < maxText {
				m.match(b, re.Sub[0], extra)
			}
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(m.of(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(rune(' ' + m.IntN('~'-' ')))
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	case syntax.OpAlternate:
		m.match(b, re.Sub[m.IntN(len(re.Sub))], extra)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			m.match(b, sub, extra)
		}
	}
}

// of returns a character of a class, which is a list of the first and the last character of each
// range. It prefers printable characters of ASCII.
func (m *valueMaker) of(class []rune) rune {
	for range 20 {
		i := 2 * m.IntN(len(class)/2)
		from, to := max(class[i], ' '), min(class[i+1], '~')
		if from <= to {
			return from + rune(m.IntN(int(to-from)+1))
		}
	}
	return class[0]
}
