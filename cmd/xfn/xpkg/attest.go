package xpkg

import (
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/push"
)

// readAttestations reads the files of values TYPE=FILE.
func readAttestations(values []string) (all []push.Attestation, err error) {
	for _, value := range values {
		short, path, ok := cutLast(value)
		if !ok {
			return nil, &terminal.UsageError{Err: fmt.Errorf("reading --attest %q: expected TYPE=FILE", value)}
		}
		uri, err := flags.PredicateType("--attest", short)
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
