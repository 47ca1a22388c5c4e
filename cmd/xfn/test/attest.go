package test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/xpkg"
)

// attestations state that the cases passed, one attestation for each function of
// --attest-report.
type attestations struct {
	all []*attestation
	// files records the files that the cases read. began is the time before the first read.
	files *manifest.Reads
	began time.Time
	// tool is the version of this program.
	tool string
}

// An attestation is about the cases that called a function.
type attestation struct {
	function, file string
	// path is the file of the package, or "" if the Function names the package by its digest.
	path string
	// digest is the digest of the package, or empty while it is unknown.
	digest v1.Hash
	passed map[string]bool
}

// attestations returns an attestation for each function of --attest-report. packages are the
// values of --package.
func (f reportFlags) attestations(ctx context.Context, packages map[string]string, p terminal.Program) (attestations, error) {
	all := attestations{began: time.Now(), tool: "xfn-" + p.Version}
	written := map[string]bool{}
	for _, function := range slices.Sorted(maps.Keys(f.AttestReport)) {
		a := &attestation{function: function, file: f.AttestReport[function], path: packages[function], passed: map[string]bool{}}
		switch {
		case function == "" || a.file == "":
			return all, &terminal.UsageError{Err: errors.New("reading --attest-report: expected NAME=FILE")}
		case written[filepath.Clean(a.file)]:
			return all, &terminal.UsageError{Err: fmt.Errorf("--attest-report names %q for several functions", a.file)}
		}
		written[filepath.Clean(a.file)] = true
		if _, err := os.Stat(filepath.Dir(a.file)); err != nil {
			return all, fmt.Errorf("writing the attestation %q: %w", a.file, fsx.Cause(err))
		}
		if a.path != "" {
			var err error
			if a.digest, err = a.packageDigest(ctx); err != nil {
				return all, err
			}
		}
		all.all = append(all.all, a)
	}
	return all, nil
}

// packageDigest returns the digest that a push of the package's file has.
func (a *attestation) packageDigest(ctx context.Context) (digest v1.Hash, err error) {
	if info, err := os.Stat(a.path); err == nil && info.IsDir() {
		return digest, a.buildFirst(fmt.Errorf("attesting function %q: expected a package, got the folder %q", a.function, a.path))
	}
	file, err := xpkg.Open(ctx, a.path)
	if err != nil {
		return digest, fmt.Errorf("attesting function %q: %w", a.function, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	digest, err = file.Artifact.Digest()
	return digest, terminal.Wrap(err, "computing the digest of %q", a.path)
}

func (a *attestation) buildFirst(err error) error {
	return hint.Wrap(err, "build the package, then test with "+hint.Package+" "+hint.Hint(a.function)+"=FILE.xpkg")
}

// observe records the files that items read.
func (all *attestations) observe(o *suite.Options, items []suite.Item) {
	all.files = &manifest.Reads{Fs: o.Config.Reader.FS}
	o.Config.Reader.FS = all.files
	for _, i := range items {
		all.files.Record(i.Suite.Path)
	}
}

// add adds a case that passed to the attestations of the functions that it called. If
// something else than the package of the function ran, it returns an error.
func (all attestations) add(o suite.Outcome) error {
	for _, a := range all.all {
		run, ok := o.Ran(a.function)
		if !ok || o.Status != suite.Passed {
			continue
		}
		digest, err := a.ran(run)
		if err != nil {
			return err
		}
		if a.digest != (v1.Hash{}) && a.digest != digest {
			return fmt.Errorf("attesting function %q: the cases run the packages %s and %s, expected one package", a.function, a.digest, digest)
		}
		a.digest = digest
		a.passed[o.Name()] = true
	}
	return nil
}

func (a *attestation) ran(run session.Run) (v1.Hash, error) {
	switch {
	case run.Runtime == session.Builtin || run.Runtime == session.Development:
		return v1.Hash{}, a.buildFirst(fmt.Errorf("attesting function %q: it ran with runtime %s, not from a package", a.function, run.Runtime))
	case flags.Replacing(run.Runtime, run.Annotations) != "":
		return v1.Hash{}, fmt.Errorf("attesting function %q: its package did not run, because the annotation %s replaces it", a.function, flags.Replacing(run.Runtime, run.Annotations))
	case a.path != "":
		return a.digest, nil
	}
	_, text, _ := strings.Cut(run.Package, "@")
	digest, err := v1.NewHash(text)
	if err != nil || lock.IsPath(run.Package) {
		return v1.Hash{}, a.buildFirst(fmt.Errorf("attesting function %q: expected a package with a digest, got %q", a.function, run.Package))
	}
	return digest, nil
}

// write writes the attestations. All cases must have passed.
func (all attestations) write(ctx context.Context) error {
	if len(all.all) == 0 {
		return nil
	}
	files, err := all.digests()
	if err != nil {
		return err
	}
	for _, a := range all.all {
		if len(a.passed) == 0 {
			return fmt.Errorf("attesting function %q: no passed case called the function", a.function)
		}
		if a.path != "" {
			switch after, err := a.packageDigest(ctx); {
			case err != nil:
				return err
			case after != a.digest:
				return fmt.Errorf("attesting function %q: the package %q changed during the run", a.function, a.path)
			}
		}
		text, err := sbom.TestReport(sbom.Subject{Name: a.function, Digest: a.digest, Tool: all.tool}, slices.Sorted(maps.Keys(a.passed)), files)
		if err == nil {
			err = fsx.WriteFile(a.file, 0o644, text)
		}
		if err != nil {
			return fmt.Errorf("writing the attestation %q: %w", a.file, err)
		}
	}
	return nil
}

// digests returns the digests of the files that the cases read, by their paths relative to the
// working directory.
func (all attestations) digests() (map[string]string, error) {
	digests := map[string]string{}
	for _, path := range all.files.Paths() {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil && info.ModTime().After(all.began) {
			return nil, fmt.Errorf("attesting the cases: %q changed during the run", path)
		}
		digest, err := fileDigest(path)
		if err != nil {
			return nil, fmt.Errorf("computing the digest of %q: %w", path, fsx.Cause(err))
		}
		name, err := fsx.Relative(".", path)
		if err != nil {
			return nil, fmt.Errorf("attesting the file %q: %w", path, err)
		}
		digests[filepath.ToSlash(name)] = digest
	}
	return digests, nil
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest, _, err := v1.SHA256(f)
	return digest.Hex, err
}
