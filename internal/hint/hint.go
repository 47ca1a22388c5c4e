package hint

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A Hint is one imperative sentence that tells the user the next action. It
// names options by the constants of this package, because their syntax is only
// known to the caller of Spell.
type Hint string

// Options that a hint can name.
const (
	Builtin               Hint = "{builtin}"
	Builtins              Hint = "{builtins}"
	CAFile                Hint = "{ca-file}"
	CacheDir              Hint = "{cache-dir}"
	Compositions          Hint = "{compositions}"
	CrossplaneVersion     Hint = "{crossplane-version}"
	Dependencies          Hint = "{dependencies}"
	EmbedRuntimeDir       Hint = "{embed-runtime-dir}"
	EmbedRuntimeSource    Hint = "{embed-runtime-source}"
	EmbedRuntimeTarball   Hint = "{embed-runtime-image-tarball}"
	Entrypoint            Hint = "{entrypoint}"
	ExamplesRoot          Hint = "{examples-root}"
	From                  Hint = "{from}"
	FunctionCredentials   Hint = "{function-credentials}"
	GitPath               Hint = "{git-path}"
	GitRef                Hint = "{git-ref}"
	IdleTimeout           Hint = "{idle-timeout}"
	Ignore                Hint = "{ignore}"
	InsecureSkipTLSVerify Hint = "{insecure-skip-tls-verify}"
	Lenient               Hint = "{lenient}"
	Lint                  Hint = "{lint}"
	MaxMessageSize        Hint = "{max-message-size}"
	NoBundle              Hint = "{no-bundle}"
	NoSignatures          Hint = "{no-signatures}"
	Offline               Hint = "{offline}"
	Package               Hint = "{package}"
	PlainHTTP             Hint = "{plain-http}"
	Platform              Hint = "{platform}"
	Profile               Hint = "{profile}"
	Registry              Hint = "{registry}"
	Replace               Hint = "{replace}"
	RequiredResources     Hint = "{required-resources}"
	Runtime               Hint = "{runtime}"
	SignKey               Hint = "{sign-key}"
	Templates             Hint = "{templates}"
	Timeout               Hint = "{timeout}"
	Update                Hint = "{update}"
	WatchedResource       Hint = "{watched-resource}"
)

// Options returns all options.
func Options() []Hint {
	return []Hint{
		Builtin, Builtins, CAFile, CacheDir, Compositions, CrossplaneVersion, Dependencies, EmbedRuntimeDir, EmbedRuntimeSource,
		EmbedRuntimeTarball, Entrypoint, ExamplesRoot, From, FunctionCredentials, GitPath, GitRef, IdleTimeout, Ignore, InsecureSkipTLSVerify, Lenient, Lint,
		MaxMessageSize, NoBundle, NoSignatures, Offline, Package, PlainHTTP, Platform, Profile,
		Registry, Replace, RequiredResources, Runtime, SignKey, Templates, Timeout, Update, WatchedResource,
	}
}

// A Speller returns the syntax of an option, such as "--offline" for "offline".
type Speller func(option string) string

// Spell returns the hint with each option in the syntax that s returns. If s is
// nil, the syntax is "option offline".
func (h Hint) Spell(s Speller) string {
	if s == nil {
		s = func(option string) string { return "option " + option }
	}
	var spelled []string
	for _, o := range Options() {
		spelled = append(spelled, string(o), s(strings.Trim(string(o), "{}")))
	}
	return strings.NewReplacer(spelled...).Replace(string(h))
}

type hinted struct {
	error
	hint Hint
}

func (h hinted) Unwrap() error { return h.error }

// Wrap returns err with a hint and the same text. It returns err itself if err is nil or the
// hint is "".
func Wrap[T ~string](err error, hint T) error {
	if err == nil || hint == "" {
		return err
	}
	return hinted{error: err, hint: Hint(hint)}
}

// Of returns the outermost hint in err's chain, or "".
func Of(err error) Hint {
	if h, ok := errors.AsType[hinted](err); ok {
		return h.hint
	}
	return ""
}

// Or joins alternatives, without those that are "".
func Or(alternatives ...Hint) Hint {
	var all []string
	for _, h := range alternatives {
		if h != "" {
			all = append(all, string(h))
		}
	}
	return Hint(strings.Join(all, "; or "))
}

// Add returns err with alternative as its hint or, if err has a hint, with both hints. It returns
// nil if err is nil.
func Add(err error, alternative Hint) error { return Wrap(err, Or(Of(err), alternative)) }

// Meant returns a hint that suggests the name near after prefix, such as "kind: ". It returns ""
// if near is "".
func Meant(prefix, near string) Hint {
	if near == "" {
		return ""
	}
	return Hint("did you mean " + prefix + near + "?")
}

// MeantOf returns a hint that suggests the value that is similar to wrong, or that is the
// beginning of wrong. If there is no such value, the hint lists all values. Without values,
// MeantOf returns "".
func MeantOf(wrong string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	near := Nearest(wrong, values)
	for _, v := range values {
		if near == "" && strings.HasPrefix(strings.ToLower(wrong), strings.ToLower(v)) {
			near = v
		}
	}
	return cmp.Or(string(Meant("", near)), "write one of "+strings.Join(values, ", "))
}

// Word returns an argument as a word of a shell's command line, in quotes if it needs them.
func Word(argument string) string {
	if plainWord().MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\d_@%+=:,./\\-]+$`) })

// An returns a noun, such as a kind, after its indefinite article.
func An(noun string) string {
	if noun == "" || !strings.Contains("AEIOUaeiou", noun[:1]) || youLike().MatchString(noun) {
		return "a " + noun
	}
	return "an " + noun
}

// youLike matches words whose first letter is pronounced as the word you.
var youLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:us|uni[^n]|eu)`) })

// DidYouMean returns the end of a message that suggests the name near, "" if near is "".
func DidYouMean(near string) string {
	if near == "" {
		return ""
	}
	return ", did you mean " + near + "?"
}

// longest is the number of bytes of a name that EditDistance compares.
const longest = 128

// Nearest returns the name with the smallest EditDistance to wrong, ignoring
// case. It returns "" if the distance of all names is more than two and more
// than a third of wrong's length. It ignores a name that differs in a whole word.
func Nearest(wrong string, names []string) string {
	best, found := max(2, len(wrong)/3)+1, ""
	for _, name := range names {
		if more := len(name) - len(wrong); more >= best || -more >= best {
			continue // Each edit changes the length by at most one.
		}
		if d := EditDistance(strings.ToLower(wrong), strings.ToLower(name)); d < best && d < max(len(wrong), len(name)) && !hasOtherWord(wrong, name) {
			best, found = d, name
		}
	}
	return found
}

// words matches the words of a name in camel case.
var words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+|[A-Z][a-z]+`) })

// hasOtherWord reports whether two names in camel case have equally many words, and a word
// differs by more than half of its letters. Such words, for example Delete and Update, are
// different words, not misspellings.
func hasOtherWord(a, b string) bool {
	as, bs := words().FindAllString(a, -1), words().FindAllString(b, -1)
	if len(as) != len(bs) || len(as) == 1 {
		return false
	}
	for i := range as {
		if EditDistance(as[i], bs[i]) > max(len(as[i]), len(bs[i]))/2 {
			return true
		}
	}
	return false
}

// Misspelled returns the Nearest of names if name, which may be right, is probably a misspelling of it,
// and "" otherwise. The names may differ in case, in one edit in a word of at least four letters, or in
// the order or number of letters in a word of three. Names that differ in digits, in the last letter or
// in a plural are not misspellings, because such names often exist side by side.
func Misspelled(name string, names []string) string {
	if slices.Contains(names, name) {
		return ""
	}
	near := Nearest(name, names)
	if EditDistance(name, near) == 1 && (strings.EqualFold(name, near) || !isUsualBeside(name, near)) {
		return near
	}
	return ""
}

// isUsualBeside reports whether names that differ in one edit are probably two names of one list.
func isUsualBeside(name, near string) bool {
	const shortest = 4
	start, end, length := 0, 0, min(len(name), len(near))
	for start < length && name[start] == near[start] {
		start++
	}
	for end < length-start && name[len(name)-1-end] == near[len(near)-1-end] {
		end++
	}
	before, head, after := name[:start], name[:start], name[len(name)-end:]
	edit, tail := name[start:len(name)-end]+near[start:len(near)-end], strings.TrimLeftFunc(after, unicode.IsLower)
	isReplaced := len(name) == len(near) && len(edit) == len("ab")
	switch {
	case strings.ContainsAny(edit, "0123456789"), isReplaced && after == "", edit == "s" && after == tail:
		return true
	case !unicode.IsLetter(rune(edit[0])): // It separates words.
		return length < shortest
	}
	if !unicode.IsUpper(rune(edit[0])) {
		head = strings.TrimRightFunc(head, unicode.IsLower)
	}
	word := len(before) - len(strings.TrimRightFunc(head, unicode.IsUpper)) + length - start - len(tail)
	return word < shortest-1 || word < shortest && isReplaced
}

// EditDistance returns the number of edits from a to b. An edit adds, removes or replaces
// a byte, or swaps two adjacent bytes (optimal string alignment). Only the first 128 bytes
// of a and b are compared.
func EditDistance(a, b string) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var before []int
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = slices.Clone(last), row, last
	}
	return last[len(b)]
}
