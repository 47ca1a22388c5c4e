package process

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/runtimes/process/imagefile"
	"github.com/xfn-dev/xfn/xpkg"
)

const staticHint = "only a static program runs outside its image: link it statically (for Go: CGO_ENABLED=0), or start the function yourself and use the runtime Development"

// unpack takes the function's program out of an .xpkg file.
func (p Process) unpack(ctx context.Context, pkg, dir string) (_ program, err error) {
	p.Progress.Step("unpacking " + pkg)
	file, err := xpkg.Open(ctx, pkg)
	if err != nil {
		return program{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	prog, err := p.programOf(ctx, file.Artifact, dir)
	if err != nil {
		return program{}, fmt.Errorf("unpacking %q: %w", pkg, err)
	}
	prog.detail = fmt.Sprintf("the program of %s for linux/%s", pkg, runtime.GOARCH)
	return prog, nil
}

func (p Process) programOf(ctx context.Context, a xpkg.Artifact, dir string) (program, error) {
	img, err := imageForHost(a)
	if err != nil {
		return program{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return program{}, fmt.Errorf("reading the image's manifest: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return program{}, fmt.Errorf("reading the image's config: %w", err)
	}
	config := file.Config
	argv := config.Entrypoint
	if len(argv) == 0 {
		argv = config.Cmd // What is added takes the place of CMD otherwise, as in containers.
	}
	if len(argv) == 0 {
		return program{}, hint.Wrap(errors.New("its image has no entrypoint"), "build the package with a runtime: xpkg build --embed-runtime-source or --embed-runtime-image-tarball")
	}
	prog := program{digest: digest.String(), path: filepath.Join(dir, executableName()), args: argv[1:], env: environment(config.Env, dir, p.Env)}
	if err := extract(ctx, img, config, argv[0], prog.path); err != nil {
		return program{}, err
	}
	prog.hint, err = checkProgram(argv[0], prog.path)
	return prog, err
}

func imageForHost(a xpkg.Artifact) (v1.Image, error) {
	if runtime.GOOS != "linux" {
		err := fmt.Errorf("a package holds a program for Linux, and this is %s", runtime.GOOS)
		return nil, hint.Wrap(err, "give the folder of the function's Go source instead, or start the function yourself and use the runtime Development")
	}
	images, err := xpkg.Images(a)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, i := range images {
		if i.Platform == nil {
			continue
		}
		if i.Platform.OS == "linux" && i.Platform.Architecture == runtime.GOARCH {
			return i.Image, nil
		}
		there = append(there, i.Platform.String())
	}
	if len(there) == 0 {
		return nil, hint.Wrap(errors.New("it has no runtime image"), "build the package with a runtime: xpkg build --embed-runtime-source or --embed-runtime-image-tarball")
	}
	err = fmt.Errorf("it has no image for linux/%s, only for %s", runtime.GOARCH, strings.Join(there, ", "))
	return nil, hint.Wrap(err, "build the package with --platform linux/"+runtime.GOARCH+" too")
}

// extract finds a program as a container engine would: a bare name on the
// image's PATH, a relative path from its working directory.
func extract(ctx context.Context, img v1.Image, config v1.Config, name, dst string) error {
	if strings.Contains(name, "/") {
		if !path.IsAbs(name) {
			name = path.Join("/", config.WorkingDir, name)
		}
		return imagefile.Extract(ctx, img, name, dst)
	}
	for _, dir := range searchPath(config.Env) {
		err := imagefile.Extract(ctx, img, path.Join("/", dir, name), dst)
		if !errors.As(err, &imagefile.NotFoundError{}) {
			return err
		}
	}
	return fmt.Errorf("the image has no program %q on its PATH", name)
}

// searchPath returns the directories on an image's PATH, at most ten.
func searchPath(env []string) []string {
	value := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			value = v
		}
	}
	dirs := slices.Compact(strings.Split(value, ":"))
	return dirs[:min(len(dirs), 10)]
}

// checkProgram fails for a file that Linux could only run inside its image,
// and returns what to do about one that it may not be able to run.
func checkProgram(name, file string) (advice string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("opening the program: %w", err)
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := f.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the program: %w", err)
	}
	if strings.HasPrefix(string(magic), "#!") {
		return "", hint.Wrap(fmt.Errorf("its entrypoint %q is a script, whose interpreter is in the image", name), staticHint)
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return "", hint.Wrap(fmt.Errorf("its entrypoint %q is not a Linux program", name), staticHint)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return staticHint, nil
		}
	}
	return "", nil
}
