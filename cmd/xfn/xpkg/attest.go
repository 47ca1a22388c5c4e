package xpkg

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/push"
)

// predicateTypes are the URIs of predicate types, by cosign's short names, and that of the
// in-toto attestation framework for test results.
func predicateTypes() map[string]string {
	return map[string]string{
		"cyclonedx":       "https://cyclonedx.org/bom",
		"slsaprovenance1": "https://slsa.dev/provenance/v1",
		"spdx":            "https://spdx.dev/Document",
		"spdxjson":        "https://spdx.dev/Document",
		"test-result":     "https://in-toto.io/attestation/test-result/v0.1",
	}
}

// predicateType returns the URI of a predicate type. The value of flag is text.
func predicateType(flag, text string) (string, error) {
	known := predicateTypes()
	if uri, ok := known[text]; ok {
		return uri, nil
	}
	if scheme, rest, ok := strings.Cut(text, "://"); ok && scheme != "" && rest != "" {
		return text, nil
	}
	names := slices.Sorted(maps.Keys(known))
	err := fmt.Errorf("reading %s: %q is not a type of attestations: expected %s or a URI", flag, text, strings.Join(names, ", "))
	if near := hint.Nearest(text, names); near != "" {
		err = hint.Wrap(err, hint.Hint("did you mean "+near+"?"))
	}
	return "", &terminal.UsageError{Err: err}
}

// readAttestations reads the files of values TYPE=FILE.
func readAttestations(flags []string) (all []push.Attestation, err error) {
	for _, flag := range flags {
		short, path, ok := cutLast(flag)
		if !ok {
			return nil, &terminal.UsageError{Err: fmt.Errorf("reading --attest %q: expected TYPE=FILE", flag)}
		}
		uri, err := predicateType("--attest", short)
		if err != nil {
			return nil, err
		}
		text, err := readSmall(path, 8<<20)
		if err != nil {
			return nil, fmt.Errorf("reading attestation %q: %w", path, err)
		}
		all = append(all, push.Attestation{Type: uri, Predicate: text})
	}
	return all, nil
}

// cutLast splits TYPE=FILE. A URI may contain "=", as in ?version=1.
func cutLast(flag string) (before, after string, ok bool) {
	i := strings.LastIndex(flag, "=")
	if i < 1 || i == len(flag)-1 {
		return "", "", false
	}
	return flag[:i], flag[i+1:], true
}
