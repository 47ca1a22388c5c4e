package oci

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/proc"
)

// Redact returns text with "…" in place of the credentials in references and URLs, such
// as "USER:PASSWORD@HOST/REPOSITORY". These remain: the user name of an ssh URL; a user
// name alone, unless a port, a tag or a digest shows that a reference follows; and
// "NAME:VALUE@HOST" without a port or a repository. Outside of double quotes, Redact does
// not find a password that contains white space or quotes: see Redactor.
func Redact(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	text = quoted().ReplaceAllStringFunc(text, func(s string) string {
		if !strings.ContainsAny(s[1:len(s)-1], " \t'`\\") {
			return s
		}
		return quoted().ReplaceAllString(s, `"…@$1"`)
	})
	var b strings.Builder
	done := 0
	for _, h := range hosts(text) {
		start := max(done, strings.LastIndexAny(text[:h.at], " \t\r\n\"'`,;")+1)
		start += h.userInfo(text[start:h.at], false)
		if start < h.at {
			b.WriteString(text[done:start] + "…")
			done = h.at
		}
	}
	return b.String() + text[done:]
}

// Redactor returns a function that redacts what Redact redacts, and also the credentials
// in values, which are references, URLs, or lists of references or URLs. Their passwords
// may contain white space and quotes.
func Redactor(values []string) func(text string) string {
	var secrets []string
	for _, v := range values {
		start := 0
		for _, h := range hosts(v) {
			if n := h.userInfo(v[start:h.at], true); start+n < h.at {
				secret := v[start+n : h.at+1]
				quoted := strconv.Quote(secret)
				secrets = append(secrets, secret, quoted[1:len(quoted)-1])
				if user, password, ok := strings.Cut(secret, ":"); ok && len(password) > 1 {
					// A text may have the password without its host.
					secrets = append(secrets, user+":"+strings.TrimSuffix(password, "@"))
				}
			}
			start = h.at + 1
			if i := strings.IndexAny(v[start:], ",;"); i >= 0 {
				start += i + 1
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "…"+s[len(strings.TrimSuffix(s, "@")):])
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string { return Redact(known.Replace(text)) }
}

// quoted matches a reference in double quotes with the escapes of Go. Its group is the part
// after the credentials.
var quoted = proc.Regexp(`"[\w.$|+-]*:[^\s"/](?:[^"\\\n]|\\.)*@([A-Za-z0-9][\w.-]*(?::\d+)?/[^\s"]+)"`)

var (
	// host matches the "@" with the host after it. Its groups are the host, the port, the
	// path up to the tag, and the tag or digest.
	host = proc.Regexp("^@(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9][A-Za-z0-9.-]*)(:[0-9]+)?" +
		"(?:(/[^\\s\"'`,;:@]*)((?::\\d*[A-Za-z_.-][\\w.-]*|@sha(?:256|512):[0-9a-f]+)?)|[\\s\"'`,;:)\\]}>]|$)")
	// version matches what follows the "@" of a package or module and is not a host.
	version  = proc.Regexp(`^(?:v\d+(?:\.\d+)*(?:-.*)?|\d+(?:\.\d+){0,2}(?:-.*)?|sha256|sha512)$`)
	userName = proc.Regexp(`^[\w.$|+%~-]*$`)
)

// A hostAt is a host that may end credentials.
type hostAt struct {
	// at is the index of the "@" before the host.
	at int
	// known is true for a host with a dot or port, and for localhost.
	known bool
	// port, path and tag report whether they follow the host. A digest counts as a tag.
	port, path, tag bool
}

func hosts(s string) []hostAt {
	var all []hostAt
	for i := 0; i < len(s); i++ {
		if s[i] != '@' {
			continue
		}
		m := host().FindStringSubmatchIndex(s[i:])
		if m == nil {
			continue
		}
		name := s[i+m[2] : i+m[3]]
		if version().MatchString(name) {
			continue
		}
		port := m[4] >= 0
		all = append(all, hostAt{
			at: i, port: port, path: m[6] >= 0, tag: m[8] >= 0 && m[8] < m[9],
			known: port || name == "localhost" || strings.ContainsAny(name, ".["),
		})
	}
	return all
}

// addresses are the words before a ":" that name the kind of an address or identity, such
// as "mailto:ada@example.org", and are not user names.
var addresses = []string{"mailto", "user", "group", "serviceAccount", "principal", "acct", "sip", "xmpp", "arn", "urn"}

// userInfo returns the index in s, the text before the "@", where credentials begin, or the length
// of s if it has no credentials. isValue is true if s is the beginning of a reference or URL.
func (h hostAt) userInfo(s string, isValue bool) int {
	start, isURL := authority(s)
	user := s[start:]
	name, password, hasPassword := strings.Cut(user, ":")
	if !isURL {
		i := strings.LastIndexAny(name, "=([{<") + 1
		start, name = start+i, name[i:]
	}
	ssh := isURL && strings.HasSuffix(strings.ToLower(s[:start]), "ssh://")
	is := false
	switch {
	case isURL:
		is = user != "" && (hasPassword || !ssh)
	case strings.ContainsAny(name, `/\`) || slices.Contains(addresses, name):
	case hasPassword && isValue:
		is = h.known || h.path
	case hasPassword:
		is = (h.port || h.path) && userName().MatchString(name) && !isHost(name, password)
	default:
		is = name != "" && name != "git" && h.known && h.path && (h.port || h.tag)
	}
	if !is {
		return len(s)
	}
	return start
}

// isHost reports whether "name:rest" is a host with a port and a path, not a user name with
// a password.
func isHost(name, rest string) bool {
	port, _, ok := strings.Cut(rest, "/")
	return ok && port != "" && strings.Trim(port, "0123456789") == "" && (name == "localhost" || strings.Contains(name, "."))
}

// authority returns the start of a URL's authority (RFC 3986, section 3.2) that continues at the
// end of s. If all authorities in s have ended, it returns len(s) and true. If s contains no URL,
// it returns 0 and false.
func authority(s string) (start int, isURL bool) {
	for {
		i := strings.Index(s[start:], "://")
		if i < 0 {
			break
		}
		start, isURL = start+i+len("://"), true
		first, _, left := strings.Cut(s[start:], "/")
		_, port, hasPort := strings.Cut(first, ":")
		if isPort := port != "" && strings.Trim(port, "0123456789") == ""; !left || hasPort && !isPort && !strings.HasPrefix(first, "[") {
			return start, true
		}
	}
	if isURL {
		return len(s), true
	}
	return 0, false
}

// UserInfo returns the length of the prefix "USER:PASSWORD@" of a reference, or 0. An "@"
// after the last slash does not count: it begins a digest.
func UserInfo(ref string) int {
	for _, digest := range []string{"@sha256:", "@sha512:"} {
		ref, _, _ = strings.Cut(ref, digest)
	}
	if end := strings.LastIndex(ref, "/"); end >= 0 && !strings.HasSuffix(ref[:end+1], "://") {
		ref = ref[:end]
	}
	return strings.LastIndex(ref, "@") + 1
}
