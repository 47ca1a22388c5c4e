package test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/remote/clone"
	"github.com/xfn-dev/xfn/internal/session"
)

// maxRevision limits the bytes of the files of a git commit that are read.
const maxRevision = 256 << 20

// sides returns the configs of the two sets of versions, and the report that describes them.
func (c *UpgradeCmd) sides(ctx context.Context, term *terminal.Terminal, program terminal.Program) (before, after session.Config, out *upgrade, err error) {
	p, err := flags.FindProject(ctx, term, slices.Concat(c.Paths, c.Observed)...)
	if err != nil {
		return before, after, nil, err
	}
	for _, path := range c.Paths {
		if _, err := os.Stat(path); err != nil {
			err = fmt.Errorf("looking for suites in %q: %w", path, fsx.Cause(err))
			return before, after, nil, hint.Wrap(err, manifest.Similar(afero.NewOsFs(), path))
		}
	}
	out = &upgrade{Causes: []string{}, called: map[string]bool{}}
	config := func(l *lock.Lock) (session.Config, error) {
		r := c.Runtimes
		r.Allow()
		if l != nil {
			r.Use(l)
		}
		one, err := r.FullConfig(ctx, term, program, p, "")
		if err != nil {
			return one, err
		}
		one.Locked = one.Locked || l != nil
		one.Wrap = out.recorded(one.Wrap)
		one.Referenced = func(ref string) {
			if full, err := r.Reference(ref); err == nil {
				r.Allow(full.Name())
			}
		}
		return one, nil
	}
	from := c.From
	if from == "" && len(c.With) == 0 && c.CrossplaneVersion == "" {
		from = "HEAD"
	}
	var old revision
	if from != "" {
		functions, paths := "", c.Paths
		if p != nil {
			functions, paths = p.Dir(p.Paths.Functions), []string{p.Dir("")}
		}
		root, err := repositoryOf(paths)
		if err != nil {
			return before, after, nil, err
		}
		if old, err = readRevision(ctx, from, root, cmp.Or(c.LockFile, lock.FileName), functions, term.Warn); err != nil {
			return before, after, nil, err
		}
		for _, name := range old.functions {
			term.Warn(fmt.Sprintf("the source of function %s differs in revision %s, but both sides run the source in the working directory", name, from))
		}
		out.causes(old, from)
	}
	if before, err = config(old.before); err != nil {
		return before, after, nil, err
	}
	if after, err = config(old.after); err != nil {
		return before, after, nil, err
	}
	if old.files != nil {
		before.Reader.FS = afero.NewCopyOnWriteFs(before.Reader.FS, old.files)
	}
	if err := c.replace(&after, out); err != nil {
		return before, after, nil, err
	}
	if c.CrossplaneVersion != "" {
		if _, err := flags.Profile(c.CrossplaneVersion); err != nil {
			return before, after, nil, err
		}
		out.Causes = append(out.Causes, "Crossplane "+c.CrossplaneVersion)
	}
	return before, after, out, nil
}

// replace sets the functions of --with in after, and adds them to the causes of out.
func (c *UpgradeCmd) replace(after *session.Config, out *upgrade) error {
	after.References, after.Packages = map[string]string{}, maps.Clone(after.Packages)
	if after.Packages == nil {
		after.Packages = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.With)) {
		ref := c.With[name]
		if ref == "" {
			err := fmt.Errorf("reading --with %q: the version of the function is missing", name+"=")
			return &terminal.UsageError{Err: hint.Wrap(err, "write --with "+name+"=v0.1.0, or name a package")}
		}
		if c.isPath(ref) {
			after.Packages[name] = ref
		} else {
			full := ref
			if !strings.Contains(ref, "/") {
				full = "registry.example.org/function:" + ref
			}
			if _, err := c.Reference(full); err != nil {
				return fmt.Errorf("reading --with %s: %w", name, err)
			}
			delete(after.Packages, name)
			after.References[name] = ref
		}
		out.Causes = append(out.Causes, fmt.Sprintf("function %s: %s", name, oci.Redact(ref)))
	}
	return nil
}

// isPath reports whether a value of --with is a path. With --locked or --require-verified, a file
// with the name of an image or a version does not run in its place.
func (c *UpgradeCmd) isPath(value string) bool {
	if lock.IsPath(value) || c.Locked || c.RequireVerified {
		return lock.IsPath(value)
	}
	_, err := os.Stat(value)
	return err == nil
}

// A revision has the files and the lock of a git commit that differ from the working directory.
type revision struct {
	// files has the files with Compositions, XRDs, Functions or package metadata that differ.
	// changed are their paths, sorted.
	files   afero.Fs
	changed []string
	// functions are the embedded functions with a file that differs, sorted.
	functions []string
	// before and after are the locks of the commit and of the working directory. Both are nil,
	// or both are set.
	before, after *lock.Lock
}

// repositoryOf returns the root of the git repository that has the first of the paths, or else the
// working directory.
func repositoryOf(paths []string) (string, error) {
	if len(paths) > 0 {
		dir := paths[0]
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		if root, err := clone.Root(dir); err == nil {
			return root, nil
		}
	}
	root, err := clone.Root(".")
	return root, hint.Wrap(err, "compare versions without git with --with or --crossplane-version")
}

// readRevision reads a commit of the git repository at root. functions is the folder of embedded
// functions, or "". It warns of files that it cannot parse.
func readRevision(ctx context.Context, rev, root, lockFile, functions string, warn func(string)) (r revision, err error) {
	snap, err := clone.Commit(ctx, clone.Options{URL: root, Ref: rev})
	if err != nil {
		return r, fmt.Errorf("reading revision %q: %w", rev, err)
	}
	r.files = afero.NewMemMapFs()
	lockPath, lockErr := filepath.Abs(lockFile)
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd)
	}
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if functions != "" && err == nil {
		functions, err = filepath.Abs(functions)
		if resolved, missing := filepath.EvalSymlinks(functions); missing == nil {
			functions = resolved
		}
	}
	if err := cmp.Or(err, lockErr); err != nil {
		return r, fmt.Errorf("reading revision %q: %w", rev, err)
	}
	isManifest := func(name string) bool { return manifest.IsYAML(name) || path.Ext(name) == ".json" }
	wanted := func(name string) bool {
		at := filepath.Join(root, filepath.FromSlash(name))
		return isManifest(name) || at == lockPath || functionOf(functions, at) != ""
	}
	err = snap.Files(ctx, maxRevision, wanted, func(name string, data []byte) error {
		at := filepath.Join(root, filepath.FromSlash(name))
		if at == lockPath {
			r.before, err = lock.Parse(rev+":"+name, data)
			return err
		}
		now, err := os.ReadFile(at)
		if err == nil && bytes.Equal(now, data) {
			return nil
		}
		if f := functionOf(functions, at); f != "" && !slices.Contains(r.functions, f) {
			r.functions = append(r.functions, f)
		}
		if !isManifest(name) {
			return nil
		}
		ok, err := versioned(name, data)
		if err != nil {
			warn(fmt.Sprintf("the file in revision %s is not used: %v", rev, err))
		}
		if err != nil || !ok {
			return nil
		}
		rel, err := filepath.Rel(cwd, at)
		if err != nil {
			return fmt.Errorf("reading %q: %w", at, err)
		}
		r.changed = append(r.changed, filepath.ToSlash(rel))
		// Paths in suites are relative to the working directory, or absolute.
		return errors.Join(afero.WriteFile(r.files, rel, data, 0o600), afero.WriteFile(r.files, at, data, 0o600))
	})
	slices.Sort(r.functions)
	if err != nil || r.before == nil {
		return r, err
	}
	slices.Sort(r.changed)
	if r.after, err = lock.Read(lockFile); errors.Is(err, fs.ErrNotExist) {
		r.before, err = nil, nil
	}
	return r, err
}

// functionOf returns the name of the embedded function with the file at a path: its folder in
// functions. It returns "" for other files.
func functionOf(functions, at string) string {
	if rel, err := filepath.Rel(functions, at); functions != "" && err == nil && filepath.IsLocal(rel) {
		if name, _, below := strings.Cut(filepath.ToSlash(rel), "/"); below {
			return name
		}
	}
	return ""
}

// versioned reports whether a file has a Composition, XRD, Function or package metadata. Such a file
// is used as a whole. An error means that the file may have such an object, but cannot be parsed.
func versioned(at string, data []byte) (bool, error) {
	if !bytes.Contains(data, []byte("crossplane.io/")) {
		return false, nil
	}
	docs, err := manifest.Split(at, data)
	if err != nil {
		return false, err
	}
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return false, err
		}
		apiVersion, _ := obj["apiVersion"].(string)
		group, _, _ := strings.Cut(apiVersion, "/")
		if slices.Contains([]string{"apiextensions.crossplane.io", "pkg.crossplane.io", "meta.pkg.crossplane.io"}, group) {
			return true, nil
		}
	}
	return false, nil
}

// checkWith returns an error for the first function in --with that no render of out called.
func (c *UpgradeCmd) checkWith(out *upgrade) error {
	for _, name := range slices.Sorted(maps.Keys(c.With)) {
		if out.called[name] {
			continue
		}
		err := fmt.Errorf("--with %s: no rendered Composition calls this function", name)
		called := slices.Sorted(maps.Keys(out.called))
		near := hint.Nearest(name, called)
		if i := slices.IndexFunc(called, func(c string) bool { return strings.HasSuffix(c, "-"+name) }); i >= 0 {
			near = called[i]
		}
		if near != "" {
			return hint.Wrap(err, "did you mean "+near+"?")
		}
		if len(called) == 0 {
			return err
		}
		return hint.Wrap(err, "the functions are "+strings.Join(called, ", "))
	}
	return nil
}
