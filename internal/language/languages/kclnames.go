package languages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
)

// kclKnown are the keywords, types, functions and packages of KCL, which are names that no source
// defines (kcl-lang/kcl, the specification and the reference of system packages).
const kclKnown = " True False None Undefined import and or in is not as if else elif for schema mixin protocol check " +
	"assert all any map filter lambda rule pass return validate rulegroup break continue type relaxed final " +
	"bool int float str list dict number option print multiplyof isunique len abs all_true any_true hex bin oct ord sorted " +
	"range max min sum pow round zip typeof bytes info deprecated self " +
	"base64 collection crypto datetime file json manifests math net regex runtime template test units yaml kcl_plugin "

// A kclToken is a name, a number, an operator, a string or the end of a line.
type kclToken struct {
	text string
	at   int // the offset in the file
}

// kclPatterns match parts of KCL.
var kclPatterns = sync.OnceValue(func() (p struct{ token, name, interpolation *regexp.Regexp }) {
	const name = `[\pL_][\pL\pN_]*`
	p.token = regexp.MustCompile(`^(?s:` + name + `|[0-9][\pL\pN_]*|(?:\*\*|//|<<|>>|[-+*/%&|^])=|[=!<>]=|->|\\\r?\n|#[^\n]*|.)`)
	p.name = regexp.MustCompile(name)
	p.interpolation = regexp.MustCompile(`[^$\\]\$\{\s*(` + name + `)`) // "$${" is not an interpolation.
	return p
})

// kclTokens returns the tokens of a file. A string is one token, with a prefix such as r.
func kclTokens(source string) []kclToken {
	var all []kclToken
	for i := 0; i < len(source); {
		text := kclPatterns().token.FindString(source[i:])
		if text == "" { // no UTF-8
			text = source[i : i+1]
		}
		start := i
		if isKCLName(text) {
			start += len(text)
		}
		if start < len(source) && strings.IndexByte(`"'`, source[start]) >= 0 {
			text = source[i : start+max(1, stringLength(source[start:]))]
		}
		if strings.Trim(text[:1], " \t\r\\#") != "" {
			all = append(all, kclToken{text, i})
		}
		i += len(text)
	}
	return all
}

func isKCLName(text string) bool {
	return kclPatterns().name.FindString(text) == text && text != ""
}

// A kclUse is a use of a name outside of schemas.
type kclUse struct {
	name, file, source string
	at                 int
}

// kclNames are the names in the files of a package.
type kclNames struct {
	count   map[string]int // of all names, and words in strings
	defined []string
	uses    []kclUse
}

// undefined returns an error for a name that is used, has no second occurrence in the package, and is
// similar to a defined name.
func (k *kclNames) undefined() error {
	for _, u := range k.uses {
		if k.count[u.name] > 1 {
			continue
		}
		if near := hint.Nearest(u.name, k.defined); near != "" {
			return language.SyntaxError(u.file, u.source, u.at, fmt.Sprintf("%q is not defined%s", u.name, hint.DidYouMean(near)))
		}
	}
	return nil
}

// A kclScan is a walk over the tokens of a file.
type kclScan struct {
	*kclNames
	file, source string
	tokens       []kclToken
	depth        int // of brackets
	// inSchema is true if the tokens belong to a schema, mixin, protocol or rule. Its names can be
	// attributes that a schema in another package defines.
	inSchema bool
	// end is the token after the names that an import, a lambda or a loop defines, or "". A "{" must have
	// the depth endDepth.
	end      string
	endDepth int
}

func (k *kclNames) add(file, source string) {
	s := kclScan{kclNames: k, file: file, source: source, tokens: kclTokens(source)}
	for i, t := range s.tokens {
		first := t.at == 0 || source[t.at-1] == '\n'
		if s.depth == 0 && first && t.text != "\n" {
			s.inSchema = slices.Contains([]string{"schema", "mixin", "protocol", "rule"}, t.text) && isKCLName(s.text(i+1))
		}
		if t.text == s.end && (t.text != "{" || s.depth == s.endDepth && isKCLOperand(s.text(i-1))) {
			s.end = ""
		}
		switch {
		case strings.Contains("([{", t.text):
			s.depth++
		case strings.Contains(")]}", t.text):
			s.depth--
		case strings.ContainsAny(t.text, `"'`):
			s.addString(i)
		case isKCLName(t.text):
			s.addName(i)
		}
	}
}

// text returns the text of a token, or "" outside of the file.
func (s *kclScan) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.tokens[i].text
}

// isKCLOperand reports whether a token can be the end of a type or value.
func isKCLOperand(text string) bool {
	return strings.TrimRight(text, `"')]}`) != text || isKCLName(text) || text != "" && text[0] >= '0' && text[0] <= '9'
}

// addString counts the words of a string, and adds the names at the start of its interpolations as
// uses. In raw strings and in documentation, the same characters can be text.
func (s *kclScan) addString(i int) {
	t := s.tokens[i]
	for _, word := range kclPatterns().name.FindAllString(t.text, -1) {
		s.count[word]++
	}
	before := s.text(i - 1)
	isDoc := s.depth == 0 && (before == "" || before == "\n")
	if isDoc || s.inSchema || strings.IndexByte(`"'`, t.text[0]) < 0 {
		return
	}
	for _, m := range kclPatterns().interpolation.FindAllStringSubmatchIndex(t.text, -1) {
		s.use(t.text[m[2]:m[3]], t.at+m[2])
	}
}

func (s *kclScan) use(name string, at int) {
	if !strings.HasPrefix(name, "__") && !isKnownToKCL(name) {
		s.uses = append(s.uses, kclUse{name, s.file, s.source, at})
	}
}

func isKnownToKCL(name string) bool {
	return strings.Contains(kclKnown, " "+name+" ")
}

func (s *kclScan) addName(i int) {
	t, before := s.tokens[i], s.text(i-1)
	s.count[t.text]++
	switch isTarget := s.isTarget(i + 1); {
	case s.end == "\n": // An import defines its last name.
		if next := s.text(i + 1); next == "" || next == "\n" {
			s.defined = append(s.defined, t.text)
		}
	case before == "." || before == "@":
	case isTarget || s.end != "" || s.inSchema:
		if !isKnownToKCL(t.text) {
			s.defined = append(s.defined, t.text)
		}
	case before == "$": // a name that is spelled as a keyword
	case t.text == "import":
		s.end = "\n"
	case t.text == "lambda":
		s.end, s.endDepth = "{", s.depth
	case slices.Contains([]string{"for", "all", "any", "map", "filter"}, t.text) && isKCLName(s.text(i+1)):
		s.end = "in"
	default:
		s.use(t.text, t.at)
	}
}

// isTarget reports whether the tokens from i make a name before them a key or the target of an
// assignment, as in a = 1, a: int = 1, a.b["c"] += 1.
func (s *kclScan) isTarget(i int) bool {
	for depth := 0; i < len(s.tokens); i++ {
		text := s.text(i)
		switch {
		case strings.Contains("([{", text):
			if text != "[" && depth == 0 {
				return false
			}
			depth++
		case strings.Contains(")]}", text):
			if depth == 0 {
				return false
			}
			depth--
		case depth > 0, text == ".", text == "?", isKCLName(text) && s.text(i-1) == ".":
		default:
			isComparison := slices.Contains([]string{"==", "!=", "<=", ">="}, text)
			return text == ":" || strings.HasSuffix(text, "=") && !isComparison
		}
	}
	return false
}
