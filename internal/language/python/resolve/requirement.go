package resolve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/proc"
)

// A Requirement is a dependency specifier (PEP 508).
type Requirement struct {
	// Name is the normalized name of the package.
	Name string
	// Extras are the normalized names of the package's extras.
	Extras     []string
	Specifiers Specifiers
	// URL is the reference after "@", or "".
	URL    string
	Marker Marker
	// Text is the requirement as it was written, without the marker.
	Text string
}

var (
	separators = proc.Regexp(`[-_.]+`)
	identifier = proc.Regexp(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
)

// Normalize returns the normalized form of a package's or extra's name (PEP 503).
func Normalize(name string) string {
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

func normalized(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, Normalize(name))
	}
	return all
}

// ParseRequirement parses a dependency specifier.
func ParseRequirement(text string) (r Requirement, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("parsing requirement %q: %w", text, err)
		}
	}()
	rest := strings.TrimSpace(text)
	name := identifier().FindString(rest)
	if name == "" {
		return r, errors.New("expected the name of a package")
	}
	r.Name, rest = Normalize(name), strings.TrimSpace(rest[len(name):])
	if r.Extras, rest, err = cutExtras(rest); err != nil {
		return r, err
	}
	if url, ok := strings.CutPrefix(rest, "@"); ok {
		// A URL may contain a semicolon, so the marker needs a space before it.
		url, marker, _ := strings.Cut(strings.TrimSpace(url), " ;")
		r.URL, r.Text = strings.TrimSpace(url), name+" @ "+strings.TrimSpace(url)
		if r.URL == "" || strings.ContainsAny(r.URL, " \t") {
			return r, errors.New("expected a URL after @")
		}
		r.Marker, err = ParseMarker(marker)
		return r, err
	}
	spec, marker, _ := strings.Cut(rest, ";")
	spec = strings.TrimSpace(spec)
	r.Text = strings.TrimSpace(strings.TrimSuffix(text[:len(text)-len(strings.TrimPrefix(rest, spec))], ";"))
	if inner, ok := strings.CutPrefix(spec, "("); ok {
		if spec, ok = strings.CutSuffix(inner, ")"); !ok {
			return r, errors.New("a parenthesis is not closed")
		}
	}
	if r.Specifiers, err = ParseSpecifiers(spec); err != nil {
		return r, err
	}
	r.Marker, err = ParseMarker(marker)
	return r, err
}

// cutExtras returns the extras in brackets at the start of text, and the rest.
func cutExtras(text string) (extras []string, rest string, err error) {
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		return nil, text, nil
	}
	inner, rest, ok = strings.Cut(inner, "]")
	if !ok {
		return nil, "", errors.New("a bracket is not closed")
	}
	for extra := range strings.SplitSeq(inner, ",") {
		extra = strings.TrimSpace(extra)
		if extra == "" && strings.TrimSpace(inner) == "" {
			break
		}
		if extra == "" || identifier().FindString(extra) != extra {
			return nil, "", fmt.Errorf("%q is not the name of an extra", extra)
		}
		extras = append(extras, Normalize(extra))
	}
	return extras, strings.TrimSpace(rest), nil
}
