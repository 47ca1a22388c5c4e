package suite

import (
	"regexp/syntax"
	"strings"
)

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
