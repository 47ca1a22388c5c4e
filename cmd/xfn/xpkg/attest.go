package xpkg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/push"
)

// Attestations reads the files of --attest for a package. A folder has a file NAME.json for each
// package. If there are several packages, only folders are accepted.
func (f SignFlags) Attestations(name string, several bool) (all []push.Attestation, err error) {
	for _, value := range f.Attest {
		short, path, ok := cutLast(value)
		if !ok {
			return nil, &terminal.UsageError{Err: fmt.Errorf("reading --attest %q: expected TYPE=FILE", value)}
		}
		uri, err := flags.PredicateType("--attest", short)
		if err != nil {
			return nil, err
		}
		switch info, err := os.Stat(path); {
		case err == nil && info.IsDir():
			path = filepath.Join(path, name+".json")
		case several:
			err := fmt.Errorf("reading --attest %q: expected a folder with a file for each package, because the project has several", value)
			return nil, &terminal.UsageError{Err: hint.Wrap(err, "xfn project build writes such folders with --sbom DIR and --provenance DIR")}
		}
		text, err := fsx.ReadFile(path, 8<<20)
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
