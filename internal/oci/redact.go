package oci

import (
	"regexp"
	"strings"
	"sync"
)

// Redact returns text with "…" in place of the credentials in references and URLs, such
// as "USER:PASSWORD@HOST/REPOSITORY". A user name without a password remains in ssh URLs.
func Redact(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return word().ReplaceAllStringFunc(text, redactWord)
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[^\\s\"'`]+") })

func redactWord(w string) string {
	host := UserInfo(w)
	if host == 0 {
		return w
	}
	user := w[:host-1]
	start, isURL := 0, false
	if i := strings.Index(user, "://"); i >= 0 {
		start, isURL = i+len("://"), true
	}
	name, password, hasPassword := strings.Cut(user[start:], ":")
	if i := strings.LastIndexAny(name, "=,;([{<"); i >= 0 && !isURL {
		start, name = start+i+1, name[i+1:]
	}
	isPath := strings.ContainsAny(name, `/\`) || strings.HasPrefix(password, `\`) || strings.HasPrefix(password, "/")
	// Without a password, "git@HOST:PATH" and "ADA@HOST" are addresses.
	authority, _, hasPath := strings.Cut(w[host:], "/")
	_, port, _ := strings.Cut(authority, ":")
	needsPassword := isURL && strings.HasPrefix(user, "ssh:") || !hasPath || strings.Trim(port, "0123456789") != ""
	if isPath || name == "" && !hasPassword || needsPassword && !hasPassword {
		return w
	}
	return w[:start] + "…" + w[host-1:]
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
