package remote

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
)

// ParseTag parses a reference of the form REGISTRY/REPOSITORY:TAG, with the grammar of the
// OCI distribution spec ("Pulling manifests"). A reference without a registry gets
// defaultRegistry (HOST or HOST:PORT); if that is empty, ParseTag returns an error. The tag
// is required. A digest is an error.
func ParseTag(s, defaultRegistry string) (name.Tag, error) {
	full, err := qualify(s, defaultRegistry)
	if err != nil {
		return name.Tag{}, err
	}
	if strings.Contains(full, "@") {
		return name.Tag{}, fmt.Errorf("parsing reference %q: expected a tag, not a digest", s)
	}
	_, path, _ := strings.Cut(full, "/") // The registry may have a port.
	_, text, hasTag := strings.Cut(path, ":")
	switch {
	case !hasTag:
		return name.Tag{}, hint.Wrap(fmt.Errorf("parsing reference %q: it has no tag", s), fmt.Sprintf("add a tag, as in %q", full+":v0.1.0"))
	case text == "":
		err := fmt.Errorf("parsing reference %q: no tag follows the colon", s)
		return name.Tag{}, hint.Wrap(err, fmt.Sprintf("add a tag, as in %q, or set the variable that it comes from", full+"v0.1.0"))
	}
	if err := CheckTag(text); err != nil {
		return name.Tag{}, fmt.Errorf("parsing reference %q: %w", s, err)
	}
	tag, err := name.NewTag(full, name.StrictValidation)
	if err == nil {
		err = checkRepository(tag.Context())
	}
	if err != nil {
		err = fmt.Errorf("parsing reference %q: %w", s, err)
		return name.Tag{}, hint.Wrap(err, InLowerCase(full))
	}
	return tag, nil
}

var (
	validTag  = proc.Regexp(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	notInATag = proc.Regexp(`[^a-zA-Z0-9._-]+`)
)

// CheckTag returns an error unless tag is a tag (OCI distribution spec, "Pulling manifests").
func CheckTag(tag string) error {
	if validTag().MatchString(tag) {
		return nil
	}
	err := fmt.Errorf("%q is not a tag: expected at most 128 letters, digits and _ . -", tag)
	if similar := notInATag().ReplaceAllString(tag, "-"); validTag().MatchString(similar) && !strings.ContainsAny(tag, ":,@ ") {
		return hint.Wrap(err, hint.Meant("", similar))
	}
	example := "v0.1.0"
	if _, end, _ := strings.Cut(tag[strings.LastIndexByte(tag, '/')+1:], ":"); validTag().MatchString(end) && !strings.Contains(tag, "@") {
		example = end // The user has named a whole reference.
	}
	return hint.Wrap(err, "name one tag and nothing else, such as "+example)
}

// CheckRepository returns an error unless s is the name of a repository, with or without a
// registry. A tag, a digest, a scheme and credentials are errors.
func CheckRepository(s string) error {
	if err := checkBare("repository", s); err != nil {
		return err
	}
	if IsPath(s) {
		return fmt.Errorf("parsing repository %q: it is the path of a file, and not a repository", s)
	}
	repo, err := name.NewRepository(s)
	if err == nil {
		err = checkRepository(repo)
	}
	if err == nil {
		return nil
	}
	next := InLowerCase(s)
	if ref, err := name.ParseReference(s); err == nil && next == "" {
		without, _, _ := strings.Cut(s, "@")
		if bare := strings.TrimSuffix(without, ":"+ref.Identifier()); bare != s {
			next = hint.Hint(fmt.Sprintf("leave out the tag: %q", bare))
		}
	}
	lower := strings.ToLower(s)
	if _, err := name.NewRepository(lower); err == nil && lower != s && next == "" {
		next = hint.Hint(fmt.Sprintf("write the repository in lower case: %q", lower))
	}
	return hint.Wrap(fmt.Errorf("parsing repository %q: expected a repository in lower case and without a tag, such as registry.example.org/acme/demo", s), next)
}

// InLowerCase returns a hint that shows the reference s with its repository in lower case, or
// "" if the repository has no upper-case letters, or is not valid in lower case either.
func InLowerCase(s string) hint.Hint {
	repo, tag := s, ""
	if end := strings.LastIndexByte(s, ':'); end > strings.LastIndexByte(s, '/') {
		repo, tag = s[:end], s[end:]
	}
	path, _, _ := strings.Cut(repo[strings.IndexByte(repo, '/')+1:], "@")
	if lower := strings.ToLower(path); path == lower || !IsRepository(lower) {
		return ""
	}
	return hint.Hint(fmt.Sprintf("write the repository in lower case: %q", strings.ToLower(repo)+tag))
}

// ParseReference parses a reference as ParseTag does, and also REGISTRY/REPOSITORY@DIGEST.
// It ignores the tag in REGISTRY/REPOSITORY:TAG@DIGEST.
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

var repository = proc.Regexp(`^` + component + `(?:/` + component + `)*$`)

const component = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`

// IsRepository reports whether path, without a registry, is a valid name of a repository
// (OCI distribution spec, "Pulling manifests") of at most 255 characters, the limit of
// clients. The check of go-containerregistry is not enough: it accepts "a/../b".
func IsRepository(path string) bool {
	return len(path) <= 255 && repository().MatchString(path)
}

func checkRepository(repo name.Repository) error {
	if IsRepository(repo.RepositoryStr()) {
		return nil
	}
	return errors.New("expected a repository name such as acme/my-function: parts of a-z and 0-9, separated by /, with a single . or _ or any number of - only inside a part")
}

// qualify returns the reference s. If s contains no registry, defaultRegistry and a slash
// precede it.
func qualify(s, defaultRegistry string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }) {
		return "", fmt.Errorf("parsing reference %q: it contains white space or unprintable characters", s)
	}
	if err := checkBare("reference", s); err != nil {
		return "", err
	}
	if IsPath(s) {
		return "", hint.Wrap(fmt.Errorf("parsing reference %q: it is the path of a file, and not a reference", s), "use REGISTRY/REPOSITORY:TAG")
	}
	if hasRegistry(s) {
		return s, nil
	}
	if defaultRegistry == "" {
		err := fmt.Errorf("parsing reference %q: it names no registry", s)
		return "", hint.Wrap(err, fmt.Sprintf("write it in full, REGISTRY/REPOSITORY:TAG, as in %q, or name a registry with %s or XFN_REGISTRY", "registry.example.com/"+s, hint.Registry))
	}
	if err := checkRegistry(defaultRegistry, s); err != nil {
		return "", err
	}
	return defaultRegistry + "/" + s, nil
}

// checkRegistry returns an error unless registry, for the reference s, is HOST or HOST:PORT.
func checkRegistry(registry, s string) error {
	err := checkBare("registry", registry)
	if _, invalid := name.NewRegistry(registry, name.StrictValidation); err == nil && invalid != nil {
		err = fmt.Errorf("parsing registry %q: expected HOST or HOST:PORT", registry)
	}
	bare := registry
	if i := strings.Index(registry, "://"); i >= 0 {
		bare = registry[i+len("://"):]
	}
	host, path, _ := strings.Cut(bare, "/")
	if _, invalid := name.NewRegistry(host, name.StrictValidation); err == nil || host == "" || invalid != nil {
		return err // Credentials are not part of a host.
	}
	next := "name only the host with " + hint.Registry + " or XFN_REGISTRY: " + hint.Hint(fmt.Sprintf("%q", host))
	if path = strings.Trim(path, "/"); path != "" {
		next += hint.Hint(fmt.Sprintf(", and write the path in the reference: %q", path+"/"+s))
	}
	return hint.Wrap(err, next)
}

// IsPath reports whether s is the path of a file or folder, as it cannot be a reference: it
// begins with a dot or a slash, or is a package file without a registry.
func IsPath(s string) bool {
	return filepath.IsAbs(s) || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "/") || strings.HasSuffix(s, ".xpkg") && !hasRegistry(s)
}

// checkBare returns an error if s contains a scheme or credentials (RFC 3986, "User
// Information"), which are often copied from a browser or a script. what says what s is,
// such as "registry". The error does not contain the credentials.
func checkBare(what, s string) error {
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		scheme, rest = "", s
	}
	scheme, bare := scheme[strings.LastIndex(scheme, "@")+1:], rest[oci.UserInfo(rest):]
	switch {
	case len(bare) < len(rest):
		err := fmt.Errorf("parsing %s %q: it must not contain credentials", what, "…@"+bare)
		return hint.Wrap(err, fmt.Sprintf("leave them out: %q; log in with: docker login", bare))
	case isURL:
		return hint.Wrap(fmt.Errorf("parsing %s %q: a %s is not a URL", what, scheme+"://"+bare, what), fmt.Sprintf("leave out the scheme: %q", bare))
	}
	return nil
}

// hasRegistry reports whether the reference s begins with a registry. As in all clients,
// the first element of the path is a registry if it is "localhost" or contains a dot or a
// port.
func hasRegistry(s string) bool {
	first, _, ok := strings.Cut(s, "/")
	return ok && (first == "localhost" || strings.ContainsAny(first, ".:"))
}
