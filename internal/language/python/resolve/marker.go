package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDepth limits the parentheses of a marker.
const maxDepth = 50

// A Marker is an environment marker (PEP 508). The zero value is always true.
type Marker struct {
	root *condition
	text string
}

// A condition is a comparison, or a list of conditions joined by "and" or "or".
type condition struct {
	op          string
	left, right operand
	parts       []*condition
}

// An operand is a variable of the environment or, if variable is empty, a text.
type operand struct{ variable, text string }

// An Environment has the values of the variables that markers compare.
type Environment struct {
	Values map[string]string
	// Extras are the extras that are requested of the package that the marker belongs to, and
	// Groups the dependency groups of a pylock.toml that are installed.
	Extras, Groups []string
}

// variables are the names of PEP 508 and, last, the sets of PEP 751.
var variables = []string{
	"os_name", "sys_platform", "platform_machine", "platform_python_implementation", "platform_release", "platform_system",
	"platform_version", "python_version", "python_full_version", "implementation_name", "implementation_version", "extra",
	"extras", "dependency_groups",
}

// aliases are older names of variables, which tools still accept.
var aliases = map[string]string{
	"os.name": "os_name", "sys.platform": "sys_platform", "platform.version": "platform_version", "platform.machine": "platform_machine",
	"platform.python_implementation": "platform_python_implementation", "python_implementation": "platform_python_implementation",
}

// String returns the marker as it was written.
func (m Marker) String() string { return m.text }

// Match reports whether the marker is true in an environment.
func (m Marker) Match(env Environment) bool { return m.root == nil || m.root.match(env) }

func (c *condition) match(env Environment) bool {
	switch c.op {
	case "and":
		return !slices.ContainsFunc(c.parts, func(p *condition) bool { return !p.match(env) })
	case "or":
		return slices.ContainsFunc(c.parts, func(p *condition) bool { return p.match(env) })
	}
	if c.left.variable == "extra" || c.right.variable == "extra" {
		given := slices.Contains(env.Extras, Normalize(c.left.text+c.right.text))
		return given == (c.op == "==")
	}
	switch c.right.variable {
	case "extras":
		return slices.Contains(env.Extras, Normalize(c.left.text)) == (c.op == "in")
	case "dependency_groups":
		return slices.Contains(env.Groups, Normalize(c.left.text)) == (c.op == "in")
	}
	left, right := c.left.value(env), c.right.value(env)
	if isVersion(c.left.variable) || isVersion(c.right.variable) {
		if result, ok := compareVersions(left, c.op, right); ok {
			return result
		}
	}
	return compareTexts(left, c.op, right)
}

func (o operand) value(env Environment) string {
	if o.variable == "" {
		return o.text
	}
	return env.Values[o.variable]
}

func isVersion(variable string) bool {
	return strings.HasSuffix(variable, "_version") && variable != "platform_version"
}

// compareVersions compares two versions. ok is false if one of them is not a version.
func compareVersions(left, op, right string) (result, ok bool) {
	if op == "in" || op == "not in" {
		return false, false
	}
	s, err := parseSpecifier(op + right)
	if err != nil {
		return false, false
	}
	v, err := ParseVersion(left)
	return err == nil && s.match(v), err == nil
}

func compareTexts(left, op, right string) bool {
	switch op {
	case "==", "===":
		return left == right
	case "!=":
		return left != right
	case "in", "not in":
		return strings.Contains(right, left) == (op == "in")
	case "<":
		return left < right
	case "<=":
		return left <= right
	case ">":
		return left > right
	case ">=":
		return left >= right
	default:
		return false
	}
}

// ParseMarker parses a marker. An empty text is always true.
func ParseMarker(text string) (Marker, error) {
	p := &markerParser{rest: strings.TrimSpace(text)}
	m := Marker{text: p.rest}
	if p.rest == "" {
		return m, nil
	}
	root, err := p.any()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("unexpected %q", p.rest)
	}
	if err != nil {
		return Marker{}, fmt.Errorf("parsing marker %q: %w", text, err)
	}
	m.root = root
	return m, nil
}

func parseAll[T, R any](parts []T, parse func(T) (R, error)) ([]R, error) {
	var all []R
	for _, part := range parts {
		r, err := parse(part)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

type markerParser struct {
	rest  string
	depth int
}

func (p *markerParser) any() (*condition, error) { return p.list("or", p.all) }
func (p *markerParser) all() (*condition, error) { return p.list("and", p.one) }

func (p *markerParser) list(op string, next func() (*condition, error)) (*condition, error) {
	c := &condition{op: op}
	for {
		part, err := next()
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, part)
		if !p.word(op) {
			break
		}
	}
	if len(c.parts) == 1 {
		return c.parts[0], nil
	}
	return c, nil
}

func (p *markerParser) one() (*condition, error) {
	if !p.symbol("(") {
		return p.comparison()
	}
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d parentheses are open", maxDepth)
	}
	c, err := p.any()
	if err == nil && !p.symbol(")") {
		err = fmt.Errorf("expected ) before %q", p.rest)
	}
	p.depth--
	return c, err
}

func (p *markerParser) comparison() (c *condition, err error) {
	c = &condition{}
	if c.left, err = p.operand(); err != nil {
		return nil, err
	}
	if c.op, err = p.operator(); err != nil {
		return nil, err
	}
	if c.right, err = p.operand(); err != nil {
		return nil, err
	}
	set := func(o operand) bool { return o.variable == "extras" || o.variable == "dependency_groups" }
	switch {
	case c.left.variable != "" && c.right.variable != "" || set(c.left):
		return nil, errors.New("expected the comparison of a variable and a text")
	case set(c.right) && c.op != "in" && c.op != "not in":
		return nil, fmt.Errorf("expected \"in\" before %s", c.right.variable)
	case (c.left.variable == "extra" || c.right.variable == "extra") && c.op != "==" && c.op != "!=":
		return nil, errors.New("expected == or != beside extra")
	}
	return c, nil
}

func (p *markerParser) operator() (string, error) {
	for _, op := range operators {
		if p.symbol(op) {
			return op, nil
		}
	}
	if p.word("in") {
		return "in", nil
	}
	if p.word("not") && p.word("in") {
		return "not in", nil
	}
	return "", fmt.Errorf("expected a comparison before %q", p.rest)
}

func (p *markerParser) operand() (o operand, err error) {
	for _, quote := range []string{"'", `"`} {
		if !strings.HasPrefix(p.rest, quote) {
			continue
		}
		text, rest, ok := strings.Cut(p.rest[1:], quote)
		if !ok {
			return o, errors.New("a quote is not closed")
		}
		p.skip(rest)
		return operand{text: text}, nil
	}
	for _, name := range variables {
		if p.word(name) {
			return operand{variable: name}, nil
		}
	}
	for name, variable := range aliases {
		if p.word(name) {
			return operand{variable: variable}, nil
		}
	}
	return o, fmt.Errorf("expected a variable or a quoted text before %q", p.rest)
}

// word skips a word, and reports whether it was there.
func (p *markerParser) word(word string) bool {
	rest, ok := strings.CutPrefix(p.rest, word)
	if !ok || rest != "" && (rest[0] == '_' || rest[0] >= 'a' && rest[0] <= 'z') {
		return false
	}
	p.skip(rest)
	return true
}

func (p *markerParser) symbol(symbol string) bool {
	rest, ok := strings.CutPrefix(p.rest, symbol)
	if ok {
		p.skip(rest)
	}
	return ok
}

func (p *markerParser) skip(rest string) { p.rest = strings.TrimLeft(rest, " \t\r\n") }
