package limit

import (
	"io"
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A search looks for the matches of a regular expression in a text, one after the
// other. To find all takes time with the square of the text, and one can take
// long, too: so the text is read piece by piece, and no more once the execution is
// to end. It panics then, as guarded functions do.
type search struct {
	budget *Budget
	text   string
	// expression finds a match from the beginning of the text, and after one, which
	// is nil until it is needed, from where a character has been read.
	expression, after *regexp.Regexp
	// one and all tell whether to find one match or all is over so soon that the
	// library can be left alone with it.
	one, all bool
	// pace is how many characters are read until the budget is asked again.
	pace int
}

// searches returns the functions of regular expressions, with the types and
// errors of sprig's.
func (b *Budget) searches() map[string]any {
	return map[string]any{
		"regexMatch": func(expression, text string) bool {
			s, err := b.search(expression, text)
			return err == nil && s.match()
		},
		"mustRegexMatch": func(expression, text string) (bool, error) {
			return result(b, expression, text, (*search).match)
		},
		"regexFind": func(expression, text string) string {
			return b.must(expression, text).find()
		},
		"mustRegexFind": func(expression, text string) (string, error) {
			return result(b, expression, text, (*search).find)
		},
		"regexFindAll": func(expression, text string, n int) []string {
			return b.must(expression, text).findAll(n)
		},
		"mustRegexFindAll": func(expression, text string, n int) ([]string, error) {
			return result(b, expression, text, func(s *search) []string { return s.findAll(n) })
		},
		"regexSplit": func(expression, text string, n int) []string {
			return b.must(expression, text).split(n)
		},
		"mustRegexSplit": func(expression, text string, n int) ([]string, error) {
			return result(b, expression, text, func(s *search) []string { return s.split(n) })
		},
		"regexReplaceAll": func(expression, text, with string) string {
			return b.must(expression, text).replace(with)
		},
		"mustRegexReplaceAll": func(expression, text, with string) (string, error) {
			return result(b, expression, text, func(s *search) string { return s.replace(with) })
		},
		"regexReplaceAllLiteral": func(expression, text, with string) string {
			return b.must(expression, text).replaceLiteral(with)
		},
		"mustRegexReplaceAllLiteral": func(expression, text, with string) (string, error) {
			return result(b, expression, text, func(s *search) string { return s.replaceLiteral(with) })
		},
	}
}

func result[R any](b *Budget, expression, text string, of func(*search) R) (r R, err error) {
	s, err := b.search(expression, text)
	if err != nil {
		return r, err
	}
	return of(s), nil
}

func (b *Budget) must(expression, text string) *search {
	return b.newSearch(regexp.MustCompile(expression), text)
}

func (b *Budget) search(expression, text string) (*search, error) {
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return b.newSearch(re, text), nil
}

// paceSteps is how many steps a search makes until the budget is asked again. A
// step is an instruction for a character.
const paceSteps = 1 << 16

func (b *Budget) newSearch(re *regexp.Regexp, text string) *search {
	size := 1.0
	if parsed, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
		size = expanded(parsed)
	}
	length := float64(len(text) + 1)
	return &search{
		budget:     b,
		text:       text,
		expression: re,
		one:        size*length <= b.soon,
		all:        size*length*length <= b.soon,
		pace:       1 + int(paceSteps/size),
	}
}

func (s *search) match() bool { return s.from(0) != nil }

func (s *search) find() string {
	m := s.from(0)
	if m == nil {
		return ""
	}
	return s.text[m[0]:m[1]]
}

func (s *search) findAll(n int) []string {
	var found []string
	for m := range s.matches(n) {
		found = append(found, s.text[m[0]:m[1]])
	}
	return found
}

// split is Split of package regexp.
func (s *search) split(n int) []string {
	if s.all || n == 0 || s.text == "" {
		return s.expression.Split(s.text, n)
	}
	parts := []string{}
	begin, end := 0, 0
	for m := range s.matches(n) {
		if n > 0 && len(parts) == n-1 {
			break
		}
		end = m[0]
		if m[1] > 0 {
			parts = append(parts, s.text[begin:end])
		}
		begin = m[1]
	}
	if end != len(s.text) {
		parts = append(parts, s.text[begin:])
	}
	return parts
}

func (s *search) replace(with string) string {
	groups := strings.Count(with, "$")
	return s.replaceBy(func(out []byte, match []int) []byte {
		s.afford(len(out) + len(with) + groups*(match[1]-match[0]))
		return s.expression.ExpandString(out, with, s.text, match)
	})
}

func (s *search) replaceLiteral(with string) string {
	return s.replaceBy(func(out []byte, _ []int) []byte {
		s.afford(len(out) + len(with))
		return append(out, with...)
	})
}

func (s *search) afford(bytes int) {
	if err := s.budget.Afford(float64(bytes)); err != nil {
		panic(err)
	}
}

// replaceBy returns the text with what is appended in the place of each match.
func (s *search) replaceBy(appendTo func(out []byte, match []int) []byte) string {
	var out []byte
	end := 0
	for m := range s.matches(-1) {
		out = appendTo(append(out, s.text[end:m[0]]...), m)
		end = m[1]
	}
	return string(append(out, s.text[end:]...))
}

// matches yields n matches with their groups as package regexp finds them, or all if n
// is negative: none overlaps another, and none that is empty follows at the end of
// another.
func (s *search) matches(n int) iter.Seq[[]int] {
	if s.all {
		return slices.Values(s.expression.FindAllStringSubmatchIndex(s.text, n))
	}
	return func(yield func([]int) bool) {
		end := -1
		for at := 0; n != 0 && at <= len(s.text); {
			m := s.from(at)
			if m == nil {
				return
			}
			isNew := m[1] > at || m[0] != end
			end = m[1]
			if at = end; m[0] == end {
				at = s.next(end)
			}
			if isNew {
				n--
				if !yield(m) {
					return
				}
			}
		}
	}
}

// next returns where the character after the one at an offset begins.
func (s *search) next(at int) int {
	_, width := utf8.DecodeRuneInString(s.text[at:])
	return at + max(1, width)
}

// from returns the first match at an offset or after it, with its groups, or nil.
func (s *search) from(at int) []int {
	if at == 0 {
		return s.read(s.expression, 0)
	}
	if s.after == nil {
		s.after = after(s.expression)
	}
	_, width := utf8.DecodeLastRuneInString(s.text[:at])
	m := s.read(s.after, at-width)
	if m == nil {
		return nil
	}
	return m[2:]
}

// after returns an expression that reads a character, and then finds what another
// finds where that is behind it: that is no begin of a text, but may be one of a
// line or a word. The match is its first group.
func after(re *regexp.Regexp) *regexp.Regexp {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		panic(err)
	}
	return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + parsed.String() + `)`)
}

// read returns the first match in the text from an offset on.
func (s *search) read(re *regexp.Regexp, from int) []int {
	m, err := s.readOne(re, s.text[from:])
	if err != nil {
		panic(err)
	}
	for i := range m {
		if m[i] >= 0 {
			m[i] += from
		}
	}
	return m
}

func (s *search) readOne(re *regexp.Regexp, text string) ([]int, error) {
	if s.one {
		return re.FindStringSubmatchIndex(text), s.budget.Check()
	}
	r := &reader{budget: s.budget, rest: text, pace: s.pace}
	return re.FindReaderSubmatchIndex(r), r.err
}

// A reader reads text by the character, until the execution is to end.
type reader struct {
	budget *Budget
	rest   string
	pace   int
	read   int
	err    error
}

// ReadRune implements io.RuneReader.
func (r *reader) ReadRune() (rune, int, error) {
	if r.read++; r.read%r.pace == 0 {
		if r.err = r.budget.Check(); r.err != nil {
			return 0, 0, r.err
		}
	}
	if r.rest == "" {
		return 0, 0, io.EOF
	}
	char, width := utf8.DecodeRuneInString(r.rest)
	r.rest = r.rest[width:]
	return char, width, nil
}
