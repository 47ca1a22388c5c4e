package models

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/xfn-dev/xfn/internal/proc"
)

// A typeName is the OpenAPI name of a type in parts.
type typeName struct {
	// group has the parts of the group in reverse order, such as [org example].
	group         []string
	version, kind string
}

func parseName(name string) typeName {
	parts := strings.Split(name, ".")
	for len(parts) < 3 {
		parts = append([]string{"models"}, parts...)
	}
	n := len(parts)
	return typeName{parts[:n-2], parts[n-2], parts[n-1]}
}

// group groups the definitions by the path of the file that at returns for each. They are sorted.
func (d Definitions) group(at func(Definitions, string) string) map[string][]string {
	files := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		path := at(d, name)
		files[path] = append(files[path], name)
	}
	return files
}

// single returns the kind whose file has the definition. For a list, this is the kind of its items.
func (d Definitions) single(name string) string {
	if item := strings.TrimSuffix(name, "List"); item != name && d[item] != nil {
		name = item
	}
	return strings.ToLower(parseName(name).kind)
}

// join joins the parts of a path in a package of code, where a part has no hyphen.
func join(parts ...string) string {
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, "-", "_")
	}
	return path.Join(parts...)
}

// initialisms are words that have only capitals in names of Go.
var initialisms = strings.Fields("ACL API ASCII CPU CSS DNS EOF GUID HTML HTTP HTTPS ID IP JSON QPS RAM RPC SLA SMTP SQL SSH TCP TLS TTL UDP UI GID UID UUID URI URL UTF8 VM XML XMPP XSRF XSS SIP RTP AMQP DB TS")

var word = proc.Regexp(`[\p{Lu}\d]+([\p{Ll}\d]+|$)`)

// goName returns an exported name of Go for a text such as apiVersion, with capitals after
// digits and separators, as oapi-codegen does.
func goName(text string) string {
	name := word().ReplaceAllStringFunc(camel(text), func(s string) string {
		if upper := strings.ToUpper(s); slices.Contains(initialisms, upper) {
			return upper
		}
		return s
	})
	if name == "" || !unicode.IsLetter([]rune(name)[0]) {
		name = "N" + name
	}
	return name
}

// camel returns the letters and digits of a text, with capitals after digits and separators.
func camel(text string) string {
	var b strings.Builder
	capital := true
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) && capital:
			b.WriteRune(unicode.ToUpper(r))
		case unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(r)
		}
		capital = !unicode.IsLetter(r)
	}
	return b.String()
}

func capitalize(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unique returns a name that is not in used, and adds it: name, name_, name__ and so on.
func unique(used map[string]bool, name string) string {
	free := name
	for i := 1; used[free]; i++ {
		free = name + strings.Repeat("_", i)
	}
	used[free] = true
	return free
}

// lines splits a text into lines, so that it fits into comments of any language.
func lines(text string) []string {
	text = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\x00", ""))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
