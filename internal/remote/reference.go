package remote

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/hint"
)

// ParseTag reads a reference of the form REGISTRY/REPOSITORY:TAG, as push
// needs it. A reference without a registry is taken from defaultRegistry
// (HOST or HOST:PORT); if that is empty it is an error, since no registry is
// ever guessed. The tag is compulsory, and a digest is an error.
//
// The grammar is that of the OCI distribution spec ("Pulling manifests").
func ParseTag(s, defaultRegistry string) (name.Tag, error) {
	full, err := qualify(s, defaultRegistry)
	if err != nil {
		return name.Tag{}, err
	}
	if strings.Contains(full, "@") {
		return name.Tag{}, fmt.Errorf("parsing reference %q: expected a tag, not a digest", s)
	}
	if _, last := cutLast(full, "/"); !strings.Contains(last, ":") {
		return name.Tag{}, hint.Wrap(
			fmt.Errorf("parsing reference %q: it has no tag", s),
			fmt.Sprintf("add a tag, as in %q", full+":v0.1.0"),
		)
	}
	tag, err := name.NewTag(full, name.StrictValidation)
	if err == nil {
		err = checkRepository(tag.Context())
	}
	if err != nil {
		return name.Tag{}, fmt.Errorf("parsing reference %q: %w", s, err)
	}
	return tag, nil
}

// ParseReference is ParseTag for what is read: it also takes
// REGISTRY/REPOSITORY@DIGEST, and a tag followed by a digest, of which the
// digest counts.
func ParseReference(s, defaultRegistry string) (name.Reference, error) {
	if !strings.Contains(s, "@") {
		return ParseTag(s, defaultRegistry)
	}
	full, err := qualify(s, defaultRegistry)
	if err != nil {
		return nil, err
	}
	digest, err := name.NewDigest(full, name.StrictValidation)
	if err == nil {
		err = checkRepository(digest.Context())
	}
	if err != nil {
		return nil, fmt.Errorf("parsing reference %q: %w", s, err)
	}
	return digest, nil
}

// maxRepository bounds a repository's name, as all clients do.
const maxRepository = 255

var repository = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + component + `(?:/` + component + `)*$`) })

const component = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`

// IsRepository says whether path, without a registry, is the name of a
// repository: OCI distribution spec, "Pulling manifests". Go-containerregistry
// looks at its letters only, and "a/../b" would be another path of the registry.
func IsRepository(path string) bool {
	return len(path) <= maxRepository && repository().MatchString(path)
}

func checkRepository(repo name.Repository) error {
	if IsRepository(repo.RepositoryStr()) {
		return nil
	}
	return errors.New("a repository's name has parts with / between, of a-z and 0-9, and in them single . _ or - between those")
}

// qualify returns s with a registry in front.
func qualify(s, defaultRegistry string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }) {
		return "", fmt.Errorf("parsing reference %q: it contains white space or unprintable characters", s)
	}
	if err := checkBare("reference", s); err != nil {
		return "", err
	}
	if hasRegistry(s) {
		return s, nil
	}
	if defaultRegistry == "" {
		return "", hint.Wrap(
			fmt.Errorf("parsing reference %q: it names no registry", s),
			fmt.Sprintf("write it in full, REGISTRY/REPOSITORY:TAG, as in %q, or name a registry with %s or XFN_REGISTRY", "registry.example.com/"+s, hint.Registry),
		)
	}
	if err := checkBare("registry", defaultRegistry); err != nil {
		return "", err
	}
	if _, err := name.NewRegistry(defaultRegistry, name.StrictValidation); err != nil {
		return "", fmt.Errorf("parsing registry %q: %w", defaultRegistry, err)
	}
	return defaultRegistry + "/" + s, nil
}

// checkBare refuses what people copy from a browser or a script: a scheme, and
// credentials (RFC 3986, "User Information"), which it does not repeat.
func checkBare(what, s string) error {
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		scheme, rest = "", s
	}
	scheme, bare := scheme[strings.LastIndex(scheme, "@")+1:], rest[userInfo(rest):]
	switch {
	case len(bare) < len(rest):
		return hint.Wrap(
			fmt.Errorf("parsing %s %q: it must not contain credentials", what, "…@"+bare),
			fmt.Sprintf("leave them out: %q; log in with: docker login", bare),
		)
	case isURL:
		return hint.Wrap(
			fmt.Errorf("parsing %s %q: a %s is not a URL", what, scheme+"://"+bare, what),
			fmt.Sprintf("leave out the scheme: %q", bare),
		)
	default:
		return nil
	}
}

// userInfo returns how much of s is "USER:PASSWORD@". The "@" of a digest comes
// after the last slash.
func userInfo(s string) int {
	for _, digest := range []string{"@sha256:", "@sha512:"} {
		s, _, _ = strings.Cut(s, digest)
	}
	if end := strings.LastIndex(s, "/"); end >= 0 {
		s = s[:end]
	}
	return strings.LastIndex(s, "@") + 1
}

// hasRegistry tells a registry from the first part of a repository as every
// client does: it is "localhost", or has a dot or a port.
func hasRegistry(s string) bool {
	first, _, ok := strings.Cut(s, "/")
	return ok && (first == "localhost" || strings.ContainsAny(first, ".:"))
}

func cutLast(s, sep string) (before, after string) {
	i := strings.LastIndex(s, sep)
	return s[:max(i, 0)], s[i+1:]
}
