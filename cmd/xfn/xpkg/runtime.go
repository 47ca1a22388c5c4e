package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// embedFlags names flags that embed a runtime image, in messages about a package without one.
const embedFlags = "--embed-runtime-source, --embed-runtime-dir, --embed-runtime-image or another --embed-runtime flag"

// withRuntime returns the command that builds the package called name with its runtime image, if dir has
// the function's source, and otherwise embedFlags.
func withRuntime(name, dir string) string {
	if _, source, err := languages.Find(dir); err == nil && runtimes.SourceMetadata(dir).Name == name {
		return fmt.Sprintf("xfn xpkg build -f %s --embed-runtime-source %s", hint.Word(rootOf(dir)), hint.Word(source))
	}
	return embedFlags
}

// runtimeFlags say where the runtime image of a package comes from.
type runtimeFlags struct {
	EmbedRuntimeSource       string            `once:"" xor:"runtime" placeholder:"DIR" help:"Build and embed the function whose source is in DIR: Go, Python, TypeScript, go-templating, KCL."`
	EmbedRuntimeDir          string            `once:"" xor:"runtime" placeholder:"DIR" help:"Add the files in DIR to --base-image, and run --entrypoint: for Python, TypeScript and so on."`
	EmbedRuntimeImage        string            `xor:"runtime" empty:"" placeholder:"NAME" meant:"controller" help:"Embed an image of the Docker engine. By name or id."`
	EmbedRuntimeImageTarball string            `once:"" xor:"runtime" empty:"" placeholder:"FILE" help:"Embed the runtime image in a tarball. Write it with docker save, or with an OCI layout."`
	EmbedRuntimeBinary       map[string]string `xor:"runtime" mapsep:"none" placeholder:"OS/ARCH=FILE" help:"Embed a static program in Rust, C# and so on. The value has its platform and file: linux/amd64=function. Repeatable."`
	EmbedRuntimeLayout       string            `once:"" more:"" xor:"runtime" placeholder:"DIR" help:"Embed the images in an OCI image layout, a directory."`
	EmbedRuntimeRemote       string            `xor:"runtime" placeholder:"REF" help:"Embed the images at REF: REGISTRY/REPOSITORY:TAG or @DIGEST."`

	Language   string            `more:"" placeholder:"NAME" help:"Language of --embed-runtime-source: go, python, typescript, go-templating or kcl. Default: by the files in DIR."`
	Platform   []string          `placeholder:"OS/ARCH" help:"Platforms to build for, such as linux/amd64,linux/arm64. Default: for source code, linux and this machine's architecture; otherwise all platforms of the image."`
	BaseImage  string            `placeholder:"IMAGE" help:"Base image for the embedded program or files. An existing tarball or OCI layout, a root file system (a folder or a tar of one), docker-daemon:NAME, or a reference. Default: the image of the language; --embed-runtime-dir has none."`
	Ldflags    string            `more:"" empty:"" name:"ldflags" placeholder:"FLAGS" help:"More flags for Go's linker, as in --ldflags='-X main.version=v0.1.0'."`
	GoFlags    []string          `more:"" sep:"none" placeholder:"FLAG" help:"More flags for go build, as in --go-flags=-tags=extra. Repeatable."`
	NoBundle   bool              `more:"" help:"Keep the packages of TypeScript in node_modules, and run the files in dist that tsc wrote."`
	Entrypoint []string          `sep:"none" placeholder:"WORD" help:"Command of the function of --embed-runtime-dir: the program, then each argument. Repeatable."`
	Workdir    string            `more:"" placeholder:"PATH" help:"Directory in the image for the files of --embed-runtime-dir, and working directory of the program. Default: /function."`
	Env        []string          `more:"" sep:"none" placeholder:"KEY=VALUE" help:"Variable for the program of --embed-runtime-dir. Repeatable."`
	Label      map[string]string `more:"" mapsep:"none" placeholder:"KEY=VALUE" help:"Label of the image that xfn makes. Repeatable."`
	Offline    bool              `more:"" help:"Fetch no base image and no packages: use the cache."`
	flags.Index
	registryFlags
	flags.Lock
	flags.Cache
}

// The flags that name the source of a runtime image.
const (
	fromSource = "--embed-runtime-source"
	fromDir    = "--embed-runtime-dir"
	fromBinary = "--embed-runtime-binary"
	fromRemote = "--embed-runtime-remote"
	withBase   = "--base-image"
)

// runtime returns the runtime images that the flags name, and the known parts of their
// content. The caller closes the images.
func (f *runtimeFlags) runtime(ctx context.Context, program terminal.Program, opts runtimeimage.Options) (*language.Result, error) {
	if err := f.check(); err != nil {
		return nil, &terminal.UsageError{Err: err}
	}
	if err := f.Load(); err != nil {
		return nil, err
	}
	opts.Pin = f.Pin()
	var err error
	if opts.Platforms, err = ParsePlatforms(f.Platform); err != nil {
		return nil, err
	}
	if remote.IsPath(f.EmbedRuntimeImage) {
		return nil, notInEngine(f.EmbedRuntimeImage)
	}
	if f.EmbedRuntimeSource != "" {
		return f.buildSource(ctx, program, opts)
	}
	images, err := f.images(ctx, program, opts)
	return &language.Result{Images: images}, err
}

// notInEngine returns the error for the path of an image where the name of an image in a Docker
// engine is expected.
func notInEngine(path string) error {
	err := fmt.Errorf("reading --embed-runtime-image %q: expected the name of an image in a Docker engine, got a path", path)
	next := hint.Hint("for the file of an image, use --embed-runtime-image-tarball " + path)
	switch info, statErr := os.Stat(path); {
	case statErr != nil:
		next = cmp.Or(manifest.Similar(afero.NewOsFs(), path), next)
	case info.IsDir():
		next = hint.Hint("for an OCI image layout, use --embed-runtime-layout " + path)
	}
	return &terminal.UsageError{Err: hint.Wrap(err, next)}
}

// images returns the runtime images that are not built from source. The caller closes them.
func (f *runtimeFlags) images(ctx context.Context, program terminal.Program, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	switch {
	case len(f.EmbedRuntimeBinary) > 0:
		return f.buildBinaries(ctx, program, opts)
	case f.EmbedRuntimeDir != "":
		base, err := f.base(ctx, program, "", opts)
		if err != nil {
			return nil, err
		}
		return runtimeimage.FromDir(ctx, runtimeimage.Dir{
			Path: f.EmbedRuntimeDir, Base: base, Workdir: f.Workdir, Entrypoint: f.Entrypoint, Env: f.Env, Labels: f.Label,
		}, opts)
	}
	at := place{engine: f.EmbedRuntimeImage, tarball: f.EmbedRuntimeImageTarball, layout: f.EmbedRuntimeLayout}
	if f.EmbedRuntimeRemote != "" {
		ref, err := f.Reference(f.EmbedRuntimeRemote)
		if err != nil {
			return nil, err
		}
		at.remote = ref
	}
	if at == (place{}) {
		return &runtimeimage.Images{}, nil
	}
	return at.images(ctx, f.Client(program), program, opts)
}

func (f *runtimeFlags) check() error {
	given := map[string]bool{
		fromSource: f.EmbedRuntimeSource != "", fromBinary: len(f.EmbedRuntimeBinary) > 0, fromDir: f.EmbedRuntimeDir != "",
		fromRemote: f.EmbedRuntimeRemote != "", withBase: f.BaseImage != "",
	}
	for _, flag := range []struct {
		name  string
		given bool
		with  []string
	}{
		{withBase, f.BaseImage != "", []string{fromSource, fromDir, fromBinary}},
		{"--language", f.Language != "", []string{fromSource}},
		{"--no-bundle", f.NoBundle, []string{fromSource}},
		{"--index-url", f.IndexURL != "", []string{fromSource}},
		{"--offline", f.Offline, []string{fromSource, withBase}},
		{"--ldflags", f.Ldflags != "", []string{fromSource}},
		{"--go-flags", len(f.GoFlags) > 0, []string{fromSource}},
		{"--entrypoint", len(f.Entrypoint) > 0, []string{fromDir}},
		{"--workdir", f.Workdir != "", []string{fromDir}},
		{"--env", len(f.Env) > 0, []string{fromDir}},
		{"--label", len(f.Label) > 0, []string{fromSource, fromDir, fromBinary}},
		{"--insecure-skip-tls-verify", f.InsecureSkipTLSVerify, []string{fromSource, fromRemote, withBase}},
		{"--ca-file", f.CAFile.Pool != nil, []string{fromSource, fromRemote, withBase}},
		{"--plain-http", f.PlainHTTP, []string{fromSource, fromRemote, withBase}},
	} {
		if flag.given && !slices.ContainsFunc(flag.with, func(w string) bool { return given[w] }) {
			return hint.Wrap(fmt.Errorf("%s requires %s", flag.name, strings.Join(flag.with, " or ")), "leave the flag out, or add a flag that it requires")
		}
	}
	source := f.EmbedRuntimeSource + f.EmbedRuntimeDir + f.EmbedRuntimeImage + f.EmbedRuntimeImageTarball + f.EmbedRuntimeLayout + f.EmbedRuntimeRemote
	switch {
	case len(f.Platform) > 0 && given[fromBinary]:
		return hint.Wrap(fmt.Errorf("--platform is not for %s, which names the platforms", fromBinary), "leave --platform out")
	case len(f.Platform) > 0 && source == "":
		return hint.Wrap(fmt.Errorf("--platform requires %s or another source of a runtime image", fromSource), "leave it out: without a runtime image a package is the same on every platform")
	case f.EmbedRuntimeDir != "" && f.BaseImage == "":
		return hint.Wrap(fmt.Errorf("%s needs %s", fromDir, withBase), "name the image that has the interpreter, as in --base-image registry.example.org/python:3")
	case f.EmbedRuntimeDir != "" && (len(f.Entrypoint) == 0 || f.Entrypoint[0] == ""):
		return hint.Wrap(fmt.Errorf("%s needs --entrypoint", fromDir), "name the program of the function, as in --entrypoint python3 --entrypoint main.py")
	}
	for _, kv := range f.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return fmt.Errorf("reading --env %q: expected KEY=VALUE", kv)
		}
	}
	for _, flag := range f.goFlags() {
		if !strings.HasPrefix(flag, "-") { // go build would interpret a word without a dash as the name of a package.
			return hint.Wrap(fmt.Errorf("reading --go-flags: %q is not a flag", flag), "join a flag and its value by =, as in --go-flags=-tags=extra")
		}
	}
	return nil
}

// goFlags returns the flags of --go-flags. Each value may have several, as in GOFLAGS.
func (f *runtimeFlags) goFlags() []string { return strings.Fields(strings.Join(f.GoFlags, " ")) }

// systems and architectures are the values of GOOS and GOARCH (internal/syslist of Go).
var (
	systems       = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos")
	architectures = strings.Fields("386 amd64 amd64p32 arm arm64 arm64be armbe loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")
	// variants are the values of GOAMD64, the levels of the x86-64 psABI.
	variants = strings.Fields("v1 v2 v3 v4")
)

// IsArchitecture reports whether Go knows an architecture.
func IsArchitecture(name string) bool { return slices.Contains(architectures, name) }

// ParsePlatforms parses the values of --platform, which must differ.
func ParsePlatforms(names []string) (all []v1.Platform, err error) {
	for _, name := range names {
		p, err := ParsePlatform(name)
		if err == nil && slices.ContainsFunc(all, p.Equals) {
			err = &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading --platform: %s is given twice", p), "leave one out")}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, *p)
	}
	return all, nil
}

// ParsePlatform parses a value of --platform. It accepts unknown systems and architectures,
// which images can have, unless they are similar to a known one.
func ParsePlatform(name string) (*v1.Platform, error) {
	p, err := v1.ParsePlatform(name)
	next := ""
	if several := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == ';' }); len(several) > 1 {
		next = "separate platforms with a comma: " + strings.Join(several, ",")
	} else if err != nil || p.OS == "" || p.Architecture == "" {
		next = "use linux/amd64 or linux/arm64, for example"
	}
	if next != "" {
		return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading --platform %q: expected OS/ARCH", name), next)}
	}
	if p.Architecture == "amd64" && p.Variant != "" && !slices.Contains(variants, p.Variant) {
		return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading --platform %q: unknown variant %q of amd64", name, p.Variant), hint.Hint("use one of "+strings.Join(variants, ", ")+", or leave it out"))}
	}
	meant := *p
	for part, known := range map[*string][]string{&meant.OS: systems, &meant.Architecture: architectures} {
		if !slices.Contains(known, *part) {
			*part = cmp.Or(machines[*part], hint.Nearest(*part, known), *part)
		}
	}
	if !meant.Equals(*p) {
		return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading --platform %q: unknown platform", name), hint.Meant("", meant.String()))}
	}
	return p, nil
}

// A place is a source of images. Exactly one of its fields is set.
type place struct {
	engine, tarball, layout, root string
	remote                        name.Reference
}

// parsePlace parses an image's name as skopeo does, "TRANSPORT:DETAILS"
// (containers-transports(5)). A name without a transport is an existing file or
// directory, or a reference unless it looks like a path.
func (f *runtimeFlags) parsePlace(image string) (place, error) {
	transport, details, _ := strings.Cut(image, ":")
	if details == "" {
		transport = ""
	}
	switch transport {
	case "docker-daemon":
		return place{engine: details}, nil
	case "docker-archive", "oci-archive":
		return place{tarball: details}, nil
	case "oci":
		return place{layout: details}, nil
	case "docker":
		if after, ok := strings.CutPrefix(details, "//"); ok {
			ref, err := f.Reference(after)
			return place{remote: ref}, err
		}
	}
	info, err := os.Stat(image)
	switch {
	case runtimeimage.IsRoot(image):
		return place{root: image}, nil
	case err == nil && info.IsDir():
		return place{layout: image}, nil
	case isFile(image):
		return place{tarball: image}, nil
	}
	ref, err := f.reference(image)
	return place{remote: ref}, err
}

// images returns the images of the place. The caller closes them.
func (p place) images(ctx context.Context, client *remote.Client, program terminal.Program, opts runtimeimage.Options) (*runtimeimage.Images, error) {
	switch {
	case p.engine != "":
		engine, err := connect(ctx, program)
		if err != nil {
			return nil, err
		}
		images, err := runtimeimage.FromEngine(ctx, engine, p.engine, opts)
		return images, errors.Join(err, engine.Close())
	case p.tarball != "":
		return runtimeimage.FromTarball(ctx, p.tarball, opts)
	case p.layout != "":
		return runtimeimage.FromLayout(ctx, p.layout, opts)
	case p.root != "":
		return runtimeimage.FromRoot(ctx, p.root, opts)
	default:
		return runtimeimage.FromRemote(ctx, client, p.remote, opts)
	}
}

func connect(ctx context.Context, program terminal.Program) (*dockerengine.Engine, error) {
	return dockerengine.Connect(ctx, dockerengine.FromEnviron(os.Environ()), program.UserAgent())
}

// load loads the image of a package file for the engine's platform into the Docker engine.
func load(ctx context.Context, term *terminal.Terminal, program terminal.Program, file, as string) (err error) {
	tag, err := name.NewTag(as)
	if err != nil {
		return err
	}
	engine, err := connect(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	platform, err := engine.Platform(ctx)
	if err != nil {
		return err
	}
	pkg, err := image.OpenLocal(ctx, file, platform)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pkg.Close()) }()
	if err := engine.Load(ctx, tag, pkg.Image); err != nil {
		return err
	}
	term.Note(fmt.Sprintf("Docker has %s as image %s:%s", file, as, tag.TagStr()))
	return nil
}
