package cache

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/generate"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
)

// LockCmd writes the lock file.
type LockCmd struct {
	Files []string `arg:"" optional:"" help:"Files or folders of Functions, package metadata (crossplane.yaml) or package roots, and a project file or its folder. Default: the files in the lock file, or the project file in the working directory."`

	BaseImage []string       `sep:"none" placeholder:"REF" help:"Lock an image for --base-image or --embed-runtime-remote of xpkg build, too. Repeatable."`
	LockFile  string         `writes:"lock.yaml" default:"xfn.lock" placeholder:"FILE" meant:"output" help:"The lock file. Default: ${default}."`
	Update    flags.Optional `xor:"do" placeholder:"NAME" help:"Resolve locked entries again: all, or NAME (--update=NAME). Repeatable."`
	Check     bool           `xor:"do" help:"Write nothing, use no network, and fail if the lock file lacks entries or has unused entries."`
	Offline   bool           `help:"Fetch nothing: an image that is not in the cache is an error."`
	flags.Registries
	flags.Patience
	flags.Cache
	flags.Git
	terminal.Format

	of *project.Project
}

// Help is shown by --help.
func (LockCmd) Help() string {
	return `Writes the digest of each tag, and the highest version that each constraint in dependsOn allows. Locked entries stay the same; entries that the files no longer name are removed. With neither FILES nor --base-image, the files and base images in the lock file are locked again; without a lock file, the project in the working directory is locked.

For a project, the packages that its dependencies depend on are locked, too: their versions decide the models of APIs. A git repository with CRDs is locked by its commit, and a URL or the APIs of Kubernetes by the digest of the content.

With --locked or XFN_LOCKED=true, the commands render, test, dev, run, xpkg build and project build use only locked images. The choice of the runtime stays the same: a builtin still replaces the image of its function, locked or not.

Examples:

    xfn lock example/functions.yaml package
    xfn lock crossplane-project.yaml
    xfn lock --base-image registry.example.org/python:3.12
    xfn lock --update=function-hello
    xfn lock --check
    xfn render xr.yaml composition.yaml package/crossplane.yaml --locked
`
}

// Run updates the lock file and prints the changes.
func (c *LockCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) error {
	before, text, err := c.read()
	if err != nil {
		return err
	}
	wants, files, err := c.collect(ctx, term, before)
	if err != nil {
		return err
	}
	plan, err := c.plan(before, wants)
	if err != nil {
		return err
	}
	plan.Kept.Files = files
	if c.Check {
		return c.check(term, before, plan, text)
	}
	after, err := c.resolve(ctx, term, program, plan)
	if err != nil {
		return err
	}
	if err := c.write(after, text); err != nil {
		return err
	}
	return c.print(term, lock.Compare(before, after))
}

// read returns the lock file, decoded and as text. A missing file is an empty lock with the text nil.
func (c *LockCmd) read() (*lock.Lock, []byte, error) {
	l, text, err := lock.ReadText(c.LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &lock.Lock{Path: c.LockFile}, nil, nil
	}
	if errors.As(err, new(syscall.Errno)) { // The content was not read.
		return l, text, err
	}
	return l, text, hint.Wrap(err, "a lock file has apiVersion: xfn.dev/v1alpha1 and kind: Lock; remove this file, and write it again with xfn lock, as in xfn lock functions.yaml")
}

// collect returns the images to lock, and the names in the lock file of the files
// that require these images.
func (c *LockCmd) collect(ctx context.Context, term *terminal.Terminal, before *lock.Lock) ([]lock.Want, []string, error) {
	files, bases := c.Files, c.BaseImage
	if len(files)+len(bases) == 0 {
		for _, f := range before.Files {
			files = append(files, c.beside(f))
		}
		for _, i := range before.BaseImages {
			bases = append(bases, i.Reference)
		}
	}
	if path, err := projectFile("."); len(files)+len(bases) == 0 && err == nil && path != "" {
		files = []string{path}
	}
	if len(files)+len(bases) == 0 {
		return nil, nil, &terminal.UsageError{Err: hint.Wrap(errors.New("there is nothing to lock"), "name a functions file, a crossplane.yaml or a project file, as in xfn lock functions.yaml")}
	}
	sources := lock.Sources{Reader: manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin, Warn: term.WarnOnce()}, Parse: c.Reference, ImageAnnotation: docker.AnnotationImage}
	others, wants, err := c.project(ctx, term, sources, files)
	if err != nil {
		return nil, nil, err
	}
	more, err := sources.Collect(ctx, others...)
	if err != nil {
		return nil, nil, err
	}
	wants = append(wants, more...)
	for _, b := range bases {
		w, err := sources.Base(b)
		if err != nil {
			return nil, nil, fmt.Errorf("reading --base-image: %w", err)
		}
		wants = append(wants, w)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = c.name(f)
	}
	slices.Sort(names)
	return wants, slices.Compact(names), nil
}

// beside returns the path of a file that the lock file names. Names are
// relative to the folder of the lock file.
func (c *LockCmd) beside(file string) string {
	file = filepath.FromSlash(file)
	if file == manifest.Stdin || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(c.LockFile), file)
}

// name returns the name in the lock file for the file at path.
func (c *LockCmd) name(path string) string {
	if path == manifest.Stdin {
		return path
	}
	if rel, err := fsx.Relative(filepath.Dir(c.LockFile), path); err == nil {
		path = rel
	}
	return filepath.ToSlash(path)
}

// plan returns which entries of the lock before are kept, and which of wants it lacks.
// If --update names an image that before does not have, plan returns an error.
func (c *LockCmd) plan(before *lock.Lock, wants []lock.Want) (lock.Plan, error) {
	var known []string
	for _, i := range slices.Concat(before.Functions, before.BaseImages, before.Packages, before.APIs) {
		known = append(known, i.Names()...)
	}
	for _, name := range c.Update.Values {
		if !slices.Contains(known, name) {
			err := fmt.Errorf("reading --update: nothing in %s is named %q", c.LockFile, name)
			next := hint.Meant("--update=", hint.Nearest(name, known))
			return lock.Plan{}, &terminal.UsageError{Err: hint.Wrap(err, cmp.Or(next, "the file lists the names; leave --update out to add what it lacks"))}
		}
	}
	return before.Plan(wants, func(i lock.Image) bool {
		return c.Update.On && (len(c.Update.Values) == 0 || slices.ContainsFunc(c.Update.Values, i.Named))
	}), nil
}

func (c *LockCmd) resolve(ctx context.Context, term *terminal.Terminal, program terminal.Program, plan lock.Plan) (_ *lock.Lock, err error) {
	if len(plan.Missing) == 0 {
		return &plan.Kept, nil
	}
	client := c.PatientClient(program, c.Patience)
	pull := image.Options{Remote: client, Progress: term.Progress, Offline: c.Offline}
	if c.of != nil {
		pull.Rewrite = c.of.Rewritten
	}
	fetcher, err := c.Fetcher(c.Cache, c.Registry, pull)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fetcher.Store.Close()) }()
	r := lock.Resolver{
		Store: fetcher.Store, Pull: pull, Tags: image.Tags{Remote: client, Rewrite: pull.Rewrite}, Parse: c.Reference,
		Dependencies: fetcher.Dependencies, API: fetcher.APIDigest,
	}
	if c.Offline {
		r.Tags = image.CachedTags{Store: fetcher.Store}
	}
	l, err := r.Resolve(ctx, plan)
	if c.Update.On && strings.Contains(string(hint.Of(err)), string(hint.Offline)) {
		err = hint.Wrap(err, "leave out "+hint.Offline+": the cache has only images that other commands pulled by their tags")
	}
	return l, err
}

// write writes the lock file, unless its text is unchanged.
func (c *LockCmd) write(l *lock.Lock, before []byte) error {
	text, err := l.Encode()
	if err != nil || bytes.Equal(text, before) {
		return err
	}
	return terminal.Wrap(fsx.WriteFile(c.LockFile, 0o644, text), "writing lock file %q", c.LockFile)
}

// checked is the machine-readable result of xfn lock --check.
type checked struct {
	LockFile string       `json:"lockFile"`
	UpToDate bool         `json:"upToDate"`
	Missing  []string     `json:"missing"`
	Unused   []lock.Image `json:"unused"`
}

// check prints what a plan would change. Any change is an error.
func (c *LockCmd) check(term *terminal.Terminal, before *lock.Lock, plan lock.Plan, text []byte) error {
	result := checked{LockFile: c.LockFile, Missing: []string{}, Unused: []lock.Image{}}
	var lines []string
	for _, w := range plan.Missing {
		result.Missing = append(result.Missing, w.String())
		lines = append(lines, "missing "+w.String())
	}
	for _, i := range lock.Compare(before, &plan.Kept).Removed {
		result.Unused = append(result.Unused, i)
		lines = append(lines, "unused "+describe(i))
	}
	want, err := plan.Kept.Encode()
	if err != nil {
		return err
	}
	same := bytes.Equal(body(want), body(text))
	result.UpToDate = len(result.Missing)+len(result.Unused) == 0 && same
	if err := c.Print(term, result, terminal.Lines(lines...)); err != nil || result.UpToDate {
		return err
	}
	reason := outdated(result)
	if text == nil {
		reason = "it does not exist"
	}
	return hint.Wrap(fmt.Errorf("lock file %q is not up to date: %s", c.LockFile, reason), c.updateHint())
}

// updateHint returns the hint that says how to write the lock file that was checked.
func (c *LockCmd) updateHint() string {
	words := append([]string{"run xfn lock"}, c.Files...)
	for _, ref := range c.BaseImage {
		words = append(words, "--base-image", ref)
	}
	if c.LockFile != lock.FileName {
		words = append(words, "--lock-file", c.LockFile)
	}
	return strings.Join(words, " ")
}

// body returns a lock file's text without the comment in its first line, and
// with the line ending LF, as Encode writes it.
func body(text []byte) []byte {
	if bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

func outdated(c checked) string {
	if len(c.Missing)+len(c.Unused) == 0 {
		return "xfn lock would write the same images in another form"
	}
	return fmt.Sprintf("%s missing, %d unused", terminal.Count(len(c.Missing), "image"), len(c.Unused))
}

func describe(i lock.Image) string {
	text := i.Reference + " " + i.Digest
	if i.Constraint != "" {
		text += " for " + i.Constraint
	}
	return text
}

func (c *LockCmd) print(term *terminal.Terminal, changes lock.Changes) error {
	value := struct {
		LockFile string `json:"lockFile"`
		lock.Changes
	}{c.LockFile, changes}
	var lines []string
	for _, i := range changes.Added {
		lines = append(lines, "added "+describe(i))
	}
	for _, u := range changes.Updated {
		lines = append(lines, "updated "+describe(u.Image)+", was "+describe(u.Was))
	}
	for _, i := range changes.Removed {
		lines = append(lines, "removed "+describe(i))
	}
	if err := c.Print(term, value, terminal.Lines(lines...)); err != nil {
		return err
	}
	term.Note(fmt.Sprintf("%s: %d added, %d updated, %d removed, %d kept", c.LockFile, len(changes.Added), len(changes.Updated), len(changes.Removed), changes.Kept))
	return nil
}

// project removes the project file, or the root of a project, from files, and returns the other
// files and the dependencies of the project. It keeps the project for its rewrites, which also
// apply to the other files, so files may name one project only.
func (c *LockCmd) project(ctx context.Context, term *terminal.Terminal, sources lock.Sources, files []string) (others []string, wants []lock.Want, err error) {
	for _, f := range files {
		path, err := projectFile(f)
		if err != nil {
			return nil, nil, err
		}
		if path == "" {
			others = append(others, f)
			continue
		}
		if c.of != nil && c.of.Path != path {
			return nil, nil, &terminal.UsageError{Err: fmt.Errorf("a lock file can have the dependencies of only one project, got %q and %q", c.of.Path, path)}
		}
		if c.of, err = flags.ReadProject(ctx, term, path); err != nil {
			return nil, nil, err
		}
		for _, d := range c.of.Dependencies {
			locked := generate.LockedDependency(c.of, d)
			w := lock.API(locked)
			if d.XPkg != nil {
				if w, err = sources.Package(locked); err != nil {
					return nil, nil, w.At(err)
				}
			}
			wants = append(wants, w)
		}
	}
	return others, wants, nil
}

// projectFile returns the path of the project file that path names, or that is in the
// directory at path. It returns "" if there is none, or if the directory is a package root.
func projectFile(path string) (string, error) {
	if slices.Contains([]string{project.File, project.UpboundFile}, filepath.Base(path)) {
		return path, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return "", nil // Collect explains why path cannot be read.
	}
	if _, err := os.Stat(filepath.Join(path, "crossplane.yaml")); err == nil {
		return "", nil
	}
	found, _, err := project.Find(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return found, err
}
