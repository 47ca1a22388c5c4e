package python

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// Folders of the cache: wheels by their SHA-256 sum, wheels that indexes list, versions of
// Python in base images, and layers.
const (
	wheelsFolder = "sha256"
	indexFolder  = "index"
	basesFolder  = "bases"
	layersFolder = "layers"
)

// Cache describes what builds keep.
func Cache() language.Cache {
	return language.Cache{Name: "python", Folders: []string{wheelsFolder, indexFolder, basesFolder, layersFolder}, Noun: "file"}
}

// projectUser is the user that the crossplane CLI sets for functions in projects. Its base
// image has this user.
const projectUser = "nonroot:nonroot"

// parallel limits the wheels that are fetched or opened at once for one image.
const parallel = 8

// Language describes Python.
func Language() language.Language {
	return language.Language{
		Name:   "python",
		Marks:  projectFile + " and a folder function",
		Base:   "gcr.io/distroless/python3-debian13:nonroot",
		Detect: detect,
		Lacks:  lacks,
		Check: func(_ context.Context, src language.Source) error {
			b := &builder{src: src}
			if err := b.read(); err != nil {
				return err
			}
			return b.checkSource()
		},
		Build: Build,
		Watch: watch,
	}
}

func detect(dir string) (bool, error) {
	has, err := language.Has(dir, projectFile)
	if err != nil || !has {
		return false, err
	}
	info, err := os.Stat(filepath.Join(dir, "function"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.IsDir(), fsx.Cause(err)
}

// lacks returns the error for a project without a folder of the function.
func lacks(dir string) error {
	if has, err := language.Has(dir, projectFile); err != nil || !has {
		return nil
	}
	folders, _ := fs.Glob(os.DirFS(dir), "*/*.py")
	for i := range folders {
		folders[i] = path.Dir(folders[i])
	}
	err := fmt.Errorf("%s has no folder function beside it", projectFile)
	if near := hint.Nearest("function", folders); near != "" {
		return hint.Wrap(err, "rename the folder "+near+" to function")
	}
	return hint.Wrap(err, "name the folder of the package function, with main.py")
}

// watch returns the folder of the function, the lock file of its workspace, and the folders of
// its path dependencies.
func watch(dir string) ([]string, error) {
	all := []string{dir}
	root, err := language.Root(dir)
	if err != nil {
		return nil, err
	}
	p, err := readProject(dir)
	if err != nil {
		return all, nil // the next build reports the error
	}
	lock, err := readLock(dir, root)
	if err != nil {
		lock = &resolve.Lock{}
	}
	if lock.From != "" {
		all = append(all, filepath.Join(dir, lock.Above(), uvLock))
	}
	paths, _ := p.localPaths(lock)
	for _, at := range paths {
		all = append(all, filepath.Join(dir, filepath.FromSlash(at)))
	}
	return all, nil
}

// Build installs the wheels of the lock file and the project over a base image that has
// Python, in a virtual environment for each platform. The images depend only on the base
// images, the source, the lock file and opts.Created. Build runs no code.
func Build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	b, err := prepare(src, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("building the function in %q: %w", src.Dir, err), src.Base.Close())
	}
	images, err := runtimeimage.FromLayers(ctx, runtimeimage.Layered{Base: src.Base, Platforms: src.Platforms, Layers: b.layers}, opts)
	if err := errors.Join(err, b.open.Close()); err != nil {
		return nil, fmt.Errorf("building the function in %q: %w", src.Dir, errors.Join(err, images.Close()))
	}
	return language.NewResult(src, images, slices.Collect(maps.Values(b.used)))
}

// A builder builds one function for several platforms.
type builder struct {
	src     language.Source
	opts    runtimeimage.Options
	project *project
	// local are the source folders that the project depends on.
	local []*project
	lock  *resolve.Lock
	store *store

	mu   sync.Mutex
	used map[string]language.Material // by PURL and digest
	// warned has the warnings of reportMissing.
	warned map[string]bool
	open   fsx.Closers // the wheels, which are read until the layers are written
}

func prepare(src language.Source, opts runtimeimage.Options) (_ *builder, err error) {
	if src.Artifacts.Dir == "" {
		return nil, errors.New("no folder for wheels is given")
	}
	b := &builder{src: src, opts: opts, used: map[string]language.Material{}, warned: map[string]bool{}}
	if err := b.read(); err != nil {
		return nil, err
	}
	b.store, err = newStore(src, b.lock, opts)
	return b, err
}

// read reads the project, its lock file and the source folders that it depends on.
func (b *builder) read() (err error) {
	if b.project, err = readProject(b.src.Dir); err != nil {
		return err
	}
	if b.project.entry() == "" {
		err := fmt.Errorf("%s: [project.scripts] must have the program %q", projectFile, program)
		return hint.Wrap(err, "add the function that starts the server to [project.scripts], such as function = \"function.main:cli\"")
	}
	root := cmp.Or(b.src.Root, b.src.Dir)
	if b.lock, err = readLock(b.src.Dir, root); err != nil {
		return err
	}
	b.local, err = b.project.pathDependencies(root, b.lock)
	return err
}

func (b *builder) projects() []*project { return append([]*project{b.project}, b.local...) }

// layers returns the layers for a platform: the environment with its packages, then the
// source.
func (b *builder) layers(ctx context.Context, t runtimeimage.Target) (_ []runtimeimage.Layer, c runtimeimage.Config, err error) {
	base, err := b.store.readBase(ctx, t.Base, t.Platform.Architecture)
	if err != nil {
		return nil, c, err
	}
	machine, err := base.Machine()
	if err != nil {
		return nil, c, err
	}
	var required []resolve.Requirement
	for _, p := range b.projects() {
		required = append(required, p.required...)
		if !p.requiresPython.Match(base.Full()) {
			return nil, c, fmt.Errorf("%s requires Python %s, but the base image has %s", p.file, p.requiresPython, base.Full())
		}
	}
	choices, err := b.lock.Choose(projectFile, required, base.Target)
	if err != nil {
		return nil, c, err
	}
	prefix := "fn_" + machine
	l := Layout{Site: path.Join(prefix, "lib", "python"+base.Python(), "site-packages"), Interpreter: "/" + path.Join(prefix, "bin", "python"+base.Python())}
	var all FileSet
	if err := all.Add("the environment", environment(prefix, base)); err != nil {
		return nil, c, err
	}
	if err := b.installWheels(ctx, choices, base.Target, l, &all); err != nil {
		return nil, c, err
	}
	packages, err := all.Files()
	if err != nil {
		return nil, c, err
	}
	source, err := b.installSource(l, &all)
	if err != nil {
		return nil, c, err
	}
	image, err := t.Base.ConfigFile()
	if err != nil {
		return nil, c, err
	}
	if err := b.reportMissing(&all, l.Site, base, image.Config.Env); err != nil {
		return nil, c, err
	}
	below := layerOf(ctx, packages)
	below.Cache = filepath.Join(b.store.dir, layersFolder)
	config := runtimeimage.Config{Entrypoint: []string{"/" + path.Join(l.Site, "bin", b.project.entry())}, Workdir: "/", Labels: b.src.Labels}
	if b.src.Project {
		config.User = projectUser
	}
	return []runtimeimage.Layer{below, layerOf(ctx, source)}, config, nil
}

func layerOf(ctx context.Context, files []File) runtimeimage.Layer {
	return runtimeimage.Layer{Key: keyOf(files), Write: func(w io.Writer) error { return WriteTar(ctx, w, files) }}
}

// environment returns the files that make a folder a virtual environment (PEP 405).
func environment(prefix string, base base) []File {
	cfg := fmt.Sprintf("home = %s\ninclude-system-site-packages = false\nversion = %s\n", path.Dir(base.Interpreter), base.Full())
	all := []File{NewFile(path.Join(prefix, "pyvenv.cfg"), 0o644, []byte(cfg))}
	for _, name := range []string{"python", "python3", "python" + base.Python()} {
		all = append(all, File{TarFile: runtimeimage.TarFile{Path: path.Join(prefix, "bin", name), Link: base.Interpreter}})
	}
	return all
}

// installWheels fetches the chosen wheels and adds their files to the set.
func (b *builder) installWheels(ctx context.Context, choices []resolve.Choice, t resolve.Target, l Layout, all *FileSet) error {
	installed := make([][]File, len(choices))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, c := range choices {
		g.Go(func() error {
			file, f, err := b.store.get(gctx, c, t)
			if err != nil {
				return fmt.Errorf("fetching %s: %w", c, err)
			}
			b.open.Add(f)
			m := language.Material{Name: c.Name, Version: c.Version, PURL: "pkg:pypi/" + c.Name + "@" + c.Version, Digest: "sha256:" + file.SHA256}
			b.mu.Lock()
			b.used[m.PURL+" "+m.Digest] = m
			b.mu.Unlock()
			info, err := f.Stat()
			if err != nil {
				return fsx.Cause(err)
			}
			installed[i], err = InstallWheel(f, info.Size(), file.Name, t, l)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, c := range choices {
		if err := all.Add(c.String(), installed[i]); err != nil {
			return err
		}
	}
	return nil
}

// installSource returns the files of the project and its source folders, and returns an
// error if all has another file at one of their paths.
func (b *builder) installSource(l Layout, all *FileSet) ([]File, error) {
	var source FileSet
	for _, p := range b.projects() {
		files, err := p.install(l)
		if err != nil {
			return nil, err
		}
		for _, s := range []*FileSet{&source, all} {
			if err := s.Add(p.name, files); err != nil {
				return nil, err
			}
		}
	}
	if _, err := all.Files(); err != nil {
		return nil, err
	}
	return source.Files()
}
