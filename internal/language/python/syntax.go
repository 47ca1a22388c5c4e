package python

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/proc"
)

// encoding matches the declaration of an encoding in one of the first two lines (PEP 263).
var encoding = proc.Regexp(`^(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)

// CheckSyntax returns an error that CPython reports when it imports a file, or nil. It needs no parser:
// it finds errors of brackets, strings, indentation and colons, operands without an operator, and parts
// of statements in a wrong place. Most texts are CPython's own. Replacement fields of f-strings may
// have what Python 3.12 allows (PEP 701). Source in an encoding besides UTF-8 is not checked.
func CheckSyntax(path, source string) error {
	l := lex(source)
	if l.text == "" {
		return nil
	}
	return language.SyntaxError(path, l.source, min(l.wrong, len(strings.TrimRight(l.source, "\n"))), l.text)
}

// lex reads a source up to its end or an error. It reads nothing of a source in an encoding besides UTF-8.
func lex(source string) *lexer {
	source = strings.TrimPrefix(source, "\ufeff")
	if m := encoding().FindStringSubmatch(source); !utf8.ValidString(source) || m != nil && !oneOf(" utf-8 utf8 ", strings.ToLower(m[1])) {
		return &lexer{}
	}
	l := &lexer{source: source, levels: []level{{}}}
	if strings.Contains(source, "\r") {
		l.source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	}
	for l.at < len(l.source) && l.text == "" {
		if l.indentation() {
			l.statement()
		}
	}
	if at, text := l.open.Unclosed(l.source); text != "" {
		l.stop(at, text)
	}
	l.begin("", level{}) // The end of the file ends all blocks.
	return l
}

type lexer struct {
	source string
	at     int
	open   language.Brackets
	// parts has the state of each open bracket. The first state is the state of the statement
	// itself.
	parts  []part
	levels []level
	// imports are the statements that import modules outside of all blocks.
	imports []statement

	start   int    // the offset of the statement
	first   string // its first word
	colon   int    // the offset of the colon after which its block begins, or -1
	block   string // the first word of the statement whose block is next, or ""
	last    int    // the offset of the last token
	operand rune   // 'a' if that token ends an operand, 's' if it is a string, or 0

	wrong   int // the offset of the error text
	text    string
	stopped bool
}

// A part is the state in a bracket. If quote is not empty, the bracket is a replacement field of an
// f-string.
type part struct {
	quote string
	raw   bool
	spec  bool // in its format specifier
	start int  // the offset of the f-string

	lambdas       int // how many have no colon yet
	colons, items int // how many a dictionary has
	loop          bool
}

// A level is the indentation of a block: with tabs of 8 columns and of 1, as CPython compares both.
type level struct {
	column, narrow int
	opener, last   string // the first words of the statement of the block, and of the last one in it
}

// fail sets an error unless an error is already set. A bracket that is not closed may be its cause,
// so that lexing goes on up to the end of the statement.
func (l *lexer) fail(at int, text string) {
	if l.text == "" {
		l.wrong, l.text = at, text
	}
}

// stop sets an error that may cause further errors. It keeps an earlier such error, because the new
// error may be a consequence of it.
func (l *lexer) stop(at int, text string) {
	if !l.stopped {
		l.wrong, l.text, l.stopped = at, text, true
	}
}

// indentation reads the indentation of a logical line. It returns false for a line without a token.
func (l *lexer) indentation() bool {
	var in level
	for continued := 0; l.at < len(l.source); l.at++ {
		switch c := l.source[l.at]; {
		case c == ' ':
			in.column++
			in.narrow++
		case c == '\t':
			in.column = (in.column/8 + 1) * 8
			in.narrow++
		case c == '\f':
			in = level{}
		case strings.HasPrefix(l.source[l.at:], "\\\n"):
			continued, in = cmp.Or(continued, in.column), level{}
			l.at++
		case c == '#' || c == '\n':
			l.skipLine()
			l.at++
			return false
		default:
			if continued > 0 {
				in.column, in.narrow = continued, continued
			}
			l.begin(l.firstWord(), in)
			return l.text == ""
		}
	}
	return false
}

// firstWord returns the first word of a statement without async.
func (l *lexer) firstWord() string {
	word := wordOf(l.source[l.at:])
	if word == "async" {
		next := wordOf(strings.TrimLeft(l.source[l.at+len(word):], " \t\f"))
		return cmp.Or(next, word)
	}
	return word
}

// begin checks the indentation and the first word of a statement.
func (l *lexer) begin(word string, in level) {
	top := &l.levels[len(l.levels)-1]
	switch {
	case l.block != "" && in.column > top.column:
		if in.narrow <= top.narrow {
			l.fail(l.at, "inconsistent use of tabs and spaces in indentation")
		}
		in.opener = l.block
		l.levels = append(l.levels, in)
	case l.block != "":
		what := map[string]string{"def": "function definition", "class": "class definition"}[l.block]
		l.fail(l.at, fmt.Sprintf("expected an indented block after %s on line %d", cmp.Or(what, "'"+l.block+"' statement"), 1+strings.Count(l.source[:l.start], "\n")))
	case in.column > top.column:
		l.fail(l.at, "unexpected indent")
	}
	for top = &l.levels[len(l.levels)-1]; in.column < top.column; top = &l.levels[len(l.levels)-1] {
		l.follow(top.last, "")
		l.levels = l.levels[:len(l.levels)-1]
	}
	switch {
	case in.column > top.column:
		l.fail(l.at, "unindent does not match any outer indentation level")
	case in.narrow != top.narrow:
		l.fail(l.at, "inconsistent use of tabs and spaces in indentation")
	case word == "return" && !slices.ContainsFunc(l.levels, func(b level) bool { return b.opener == "def" }):
		l.fail(l.at, "'return' outside function")
	}
	l.follow(top.last, word)
	l.start, l.last, l.first, l.colon, l.block, l.operand, l.parts = l.at, l.at, word, -1, "", 0, append(l.parts[:0], part{})
	top.last = word
}

// follow checks that a statement can follow another in its block. No word stands for the block's end.
func (l *lexer) follow(last, word string) {
	if last == "try" && !oneOf(" except finally ", word) {
		l.fail(l.at, "expected 'except' or 'finally' block")
	}
	if after := before[word]; after != "" && !oneOf(after, last) {
		l.fail(l.at, "invalid syntax")
	}
}

// statement reads tokens up to the end of a logical line, or an error.
func (l *lexer) statement() {
	for l.at < len(l.source) && !l.stopped && (len(l.open) > 0 || l.text == "" && l.source[l.at] != '\n') {
		l.token()
	}
	if l.text != "" || len(l.open) > 0 {
		return
	}
	switch colon := l.source[l.last] == ':'; {
	case isCompound(l.first) && l.colon < 0 || l.parts[0].lambdas > 0:
		l.fail(l.at, "expected ':'")
	case colon && (l.last == l.colon || isSoft(l.first)):
		l.block = l.first
	case colon:
		l.fail(l.last, "invalid syntax")
	case len(l.levels) == 1 && (l.first == "import" || l.first == "from"):
		l.imports = append(l.imports, statement{l.source[l.start:min(l.at, len(l.source))], l.start})
	}
	l.at++
}

// token reads one token, or the space or comment before it.
func (l *lexer) token() {
	at, last, inner := l.at, l.last, &l.parts[len(l.parts)-1]
	c, header := l.source[at], len(l.open) == 0 && inner.lambdas == 0 && l.colon < 0 && isCompound(l.first)
	l.at++
	switch {
	case isOne(" \t\f\n", c):
		return
	case c == '#':
		l.skipLine()
		return
	case c == '\\':
		if l.at < len(l.source) && l.source[l.at] != '\n' {
			l.stop(at, "unexpected character after line continuation character")
		}
		l.at++
		return
	}
	previous := l.operand
	l.last, l.operand = at, 0
	switch {
	case isOne("'\"", c) || isWord(c):
		l.word(at, last, previous)
	case isOne("([{", c):
		l.push(at, part{})
	case isOne(")]}", c):
		l.close(at, last)
	case c == ':' && inner.quote != "":
		inner.spec = true
		l.characters(*inner)
	case isOne("!<>:+-*/%&|^@=", c) && strings.HasPrefix(l.source[l.at:], "="):
		l.at++
	case c == ':' && inner.lambdas > 0:
		inner.lambdas--
	case c == ':' && header:
		l.colon = at
	case c == ':' || c == '*' && isOne("{,", l.source[last]) && strings.HasPrefix(l.source[l.at:], "*"):
		inner.colons++
	case c == ',' && inner.lambdas == 0:
		l.item(last, inner)
	case c == '=' && header:
		l.fail(at, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
	}
	if isOne("$?`", c) || c == '{' && previous != 0 {
		l.fail(at, "invalid syntax")
	}
}

func (l *lexer) push(at int, p part) {
	const limit = 200 // of CPython
	if len(l.open) == limit {
		l.stop(at, "too many nested parentheses")
	}
	l.open, l.parts, l.operand = append(l.open, at), append(l.parts, p), 0
}

// close ends the last bracket. The token before is at last.
func (l *lexer) close(at, last int) {
	inner := l.parts[len(l.parts)-1]
	if inner.lambdas > 0 {
		l.fail(at, "expected ':'")
	}
	if !isOne("{,", l.source[last]) {
		l.item(last, &inner)
	}
	if text := l.open.Close(l.source, at); text != "" {
		l.stop(at, text)
		return
	}
	l.parts, l.operand = l.parts[:len(l.parts)-1], 'a'
	if inner.quote != "" {
		inner.spec = l.parts[len(l.parts)-1].spec
		l.characters(inner)
	}
}

// item ends an item, which has a colon in a dictionary. The token before is at last.
func (l *lexer) item(last int, p *part) {
	p.items++
	if p.colons > 0 && p.colons != p.items && !p.loop && p.quote == "" && len(l.open) > 0 && l.source[l.open[len(l.open)-1]] == '{' {
		l.fail(last, "':' expected after dictionary key")
	}
}

// word reads a keyword, a name, a number or a string. The token before is at last, and previous is its
// operand.
func (l *lexer) word(at, last int, previous rune) {
	word, inner := wordOf(l.source[at:]), &l.parts[len(l.parts)-1]
	l.at = at + len(word)
	text := l.at < len(l.source) && isOne("'\"", l.source[l.at]) && (word == "" || len(word) < 3 && oneOf(" b br f fr r rb rf rt t tr u ", strings.ToLower(word)))
	if !text && isKeyword(word) {
		inner.loop = inner.loop || word == "for"
		if word == "lambda" {
			inner.lambdas++
		}
		return
	}
	if previous == 'a' || previous == 's' && !text {
		wrong := "invalid syntax"
		if name := wordOf(l.source[last:]); name == "print" || name == "exec" {
			wrong = fmt.Sprintf("Missing parentheses in call to '%s'. Did you mean %s(...)?", name, name)
		}
		l.fail(at, wrong)
	}
	if text {
		s := part{start: at, raw: strings.ContainsAny(word, "rR"), quote: l.source[l.at : l.at+1]}
		if three := strings.Repeat(s.quote, 3); strings.HasPrefix(l.source[l.at:], three) {
			s.quote = three
		}
		l.at += len(s.quote)
		l.characters(s)
	} else if isDigit(word[0]) && strings.Trim(word, "0123456789_") == "" || !isDigit(word[0]) && (at < 2 || l.source[at-1] != '.' || !isDigit(l.source[at-2])) {
		l.operand = 'a' // In other cases, a keyword may be part of the word, as in 1if.
	}
}

// characters reads a string up to its end or, in an f-string, up to the next replacement field.
func (l *lexer) characters(s part) {
	prefix, _, _ := strings.Cut(l.source[s.start:], s.quote)
	format := strings.ContainsAny(prefix, "fFtT")
	for l.at < len(l.source) {
		rest := l.source[l.at:]
		ends := strings.HasPrefix(rest, s.quote)
		if ends && s.spec || rest[0] == '\n' && len(s.quote) == 1 {
			break
		}
		l.at++
		switch {
		case rest[0] == '\\' && format && !s.raw && strings.HasPrefix(rest, `\N{`):
			l.at += max(1, strings.IndexByte(rest[:min(len(rest), 200)], '}')) // The name of a character is shorter.
		case rest[0] == '\\' && !(format && len(rest) > 1 && isOne("{}", rest[1])):
			l.at++
		case ends:
			l.at += len(s.quote) - 1
			l.last, l.operand = l.at-1, 's'
			return
		case !format || !isOne("{}", rest[0]):
		case !s.spec && len(rest) > 1 && rest[1] == rest[0]:
			l.at++
		case rest[0] == '{':
			l.push(l.at-1, part{quote: s.quote, raw: s.raw, start: s.start})
			return
		case s.spec:
			l.close(l.at-1, l.last)
			return
		default:
			l.stop(l.at-1, "f-string: single '}' is not allowed")
			return
		}
	}
	kind := "string"
	if format {
		kind = "f-string"
	}
	if len(s.quote) == 3 {
		kind = "triple-quoted " + kind
	}
	l.stop(s.start, "unterminated "+kind+" literal")
}

func (l *lexer) skipLine() {
	for l.at < len(l.source) && l.source[l.at] != '\n' {
		l.at++
	}
}
