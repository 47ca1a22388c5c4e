package fsx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Patterns are the patterns of a file in the syntax of gitignore. The zero value matches nothing.
type Patterns []pattern

// A pattern is a line of a file in the syntax of gitignore.
type pattern struct {
	// include is true for a line that begins with "!".
	include, dirOnly bool
	// path matches a path, and does not match the paths below it.
	path *regexp.Regexp
}

// ParsePatterns returns the patterns in lines. It ignores comments, empty lines, and patterns
// that git matches with no file, such as one with a bracket that is not closed.
func ParsePatterns(lines []string) Patterns {
	var all Patterns
	for _, line := range lines {
		if p, ok := parsePattern(line); ok {
			all = append(all, p)
		}
	}
	return all
}

// Match reports whether the patterns exclude path, which has slashes. The last pattern that
// matches path decides. If no pattern matches path, the last pattern that matches a folder
// above it decides.
func (p Patterns) Match(path string, isDir bool) bool {
	if excludes, ok := p.last(path, isDir); ok {
		return excludes
	}
	for i := len(p) - 1; i >= 0; i-- {
		for at, c := range path {
			if c == '/' && p[i].path.MatchString(path[:at]) {
				return !p[i].include
			}
		}
	}
	return false
}

// last returns whether the last pattern that matches path itself excludes it. ok is false if no
// pattern matches.
func (p Patterns) last(path string, isDir bool) (excludes, ok bool) {
	for i := len(p) - 1; i >= 0; i-- {
		if (isDir || !p[i].dirOnly) && p[i].path.MatchString(path) {
			return !p[i].include, true
		}
	}
	return false, false
}

func parsePattern(line string) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line, p.include = strings.CutPrefix(trimSpaces(line), "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	prefix := `(?s)^`
	if !strings.Contains(line, "/") {
		prefix += `(?:.*/)?`
	}
	if line = strings.TrimPrefix(line, "/"); line == "" {
		return p, false
	}
	text, ok := expression(line)
	if !ok {
		return p, false
	}
	var err error
	p.path, err = regexp.Compile(prefix + text + "$")
	return p, err == nil
}

// trimSpaces removes the spaces at the end of a line, except those after a backslash.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\':
			i++
		case line[i] == ' ':
			continue
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// expression returns the regular expression for a pattern. It returns false for a pattern that
// matches nothing.
func expression(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch rest[0] {
		case '*':
			stars := len(rest) - len(strings.TrimLeft(rest, "*"))
			after := rest[stars:]
			switch whole := stars > 1 && (i == 0 || text[i-1] == '/'); {
			case whole && after == "":
				b.WriteString(`.*`)
			case whole && after[0] == '/':
				b.WriteString(`(?:.*/)?`)
				stars++
			default:
				b.WriteString(`[^/]*`)
			}
			i += stars
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			class, n := bracket(rest)
			if n == 0 {
				return "", false
			}
			b.WriteString(class)
			i += n
		case '\\':
			if len(rest) == 1 {
				return "", false
			}
			i++
			fallthrough
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			b.WriteString(regexp.QuoteMeta(string(r)))
			i += n
		}
	}
	return b.String(), true
}

// posix are the named classes of characters, as ranges without the slash.
var posix = map[string]string{
	"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": ` \t`, "cntrl": `\x00-\x1f\x7f`, "digit": "0-9", "graph": "!-.0-~",
	"lower": "a-z", "print": " -.0-~", "punct": "!-.:-@\\[-`{-~", "space": `\t-\r `, "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}

// bracket returns the regular expression for the bracket at the beginning of a text, and the
// length of the bracket. The length is 0 if the bracket is not closed. No bracket matches a
// slash.
func bracket(text string) (class string, length int) {
	var ranges strings.Builder
	i := 1
	negated := strings.HasPrefix(text[i:], "!") || strings.HasPrefix(text[i:], "^")
	if negated {
		i++
	}
	next := func() (r rune, ok bool) {
		if strings.HasPrefix(text[i:], `\`) {
			i++
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		return r, n > 0
	}
	for first := true; first || !strings.HasPrefix(text[i:], "]"); first = false {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(text[i:], "[:"), ":]"); ok && strings.HasPrefix(text[i:], "[:") {
			if posix[name] == "" {
				return "", 0
			}
			ranges.WriteString(posix[name])
			i = len(text) - len(rest)
			continue
		}
		from, ok := next()
		to := from
		if ok && strings.HasPrefix(text[i:], "-") && !strings.HasPrefix(text[i:], "-]") {
			i++
			to, ok = next()
		}
		if !ok {
			return "", 0
		}
		writeRange(&ranges, from, min(to, '/'-1))
		writeRange(&ranges, max(from, '/'+1), to)
	}
	if negated {
		return "[^/" + ranges.String() + "]", i + 1
	}
	if ranges.Len() == 0 {
		return `[^\x{0}-\x{10FFFF}]`, i + 1
	}
	return "[" + ranges.String() + "]", i + 1
}

// writeRange writes a range of characters, unless it is empty.
func writeRange(b *strings.Builder, from, to rune) {
	if from <= to {
		fmt.Fprintf(b, `\x{%x}-\x{%x}`, from, to)
	}
}

// IgnoreFile is the name of the file in a folder that lists what packages leave out.
const IgnoreFile = ".xpkgignore"

// maxIgnore limits the bytes of an IgnoreFile.
const maxIgnore = 1 << 20

// An Ignore has the patterns of an IgnoreFile, which have the syntax of gitignore. The zero
// value matches nothing.
type Ignore struct{ patterns Patterns }

// ReadIgnore reads an IgnoreFile with the function open. A file that does not exist has no
// patterns.
func ReadIgnore(open func(name string) (fs.File, error)) (i Ignore, err error) {
	f, err := open(IgnoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return i, fmt.Errorf("reading %q: %w", IgnoreFile, Cause(err))
	}
	defer f.Close()
	in := &io.LimitedReader{R: f, N: maxIgnore + 1}
	lines := bufio.NewScanner(in)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	switch {
	case in.N == 0:
		return i, fmt.Errorf("reading %q: the file is larger than %d bytes", IgnoreFile, maxIgnore)
	case lines.Err() != nil:
		return i, fmt.Errorf("reading %q: %w", IgnoreFile, Cause(lines.Err()))
	}
	return Ignore{ParsePatterns(all)}, nil
}

// Match reports whether packages leave out the file or folder at path, which is relative to the
// folder of the IgnoreFile and has slashes. Packages also leave out all files in that folder.
func (i Ignore) Match(path string, isDir bool) bool { return i.patterns.Match(path, isDir) }
