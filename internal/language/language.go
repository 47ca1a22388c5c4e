package language

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A Language builds functions whose source is in one language.
type Language struct {
	// Name is the name for users: "go", "go-templating".
	Name string
	// Marks are the files by which Detect recognizes the language, for errors and help.
	Marks string
	// Base is the reference of the default base image. Empty means the minimal image of
	// runtimeimage.
	Base string
	// ProjectBase replaces Base for a Source in a project. Empty means Base.
	ProjectBase string
	// Detect reports whether dir has the source of a function in this language.
	Detect func(dir string) (bool, error)
	// Lacks returns an error that says what is missing in a folder that Detect does not recognize, if
	// the folder has some of the files that Marks names. Otherwise it returns nil. Lacks may be nil.
	Lacks func(dir string) error
	// Check returns the errors in the source that need no base image. It may be nil.
	Check func(ctx context.Context, src Source) error
	// Build creates one runtime image for each platform. It takes ownership of src.Base.
	Build func(ctx context.Context, src Source, opts runtimeimage.Options) (*Result, error)
	// Watch returns the files and folders whose change requires another Build.
	Watch func(dir string) ([]string, error)
}

// CheckSource returns the errors of Build that do not depend on src.Base, and reports warnings. Fetching
// a base image first would hide them.
func (l Language) CheckSource(ctx context.Context, src Source, report progress.Func) error {
	l.ReportUnused(src.Dir, report)
	if l.Check == nil {
		return nil
	}
	if err := l.Check(ctx, src); err != nil {
		return fmt.Errorf("building the function in %q: %w", src.Dir, err)
	}
	return nil
}

// Unused returns a warning about templates of go-templating in the folder of a function in another
// language, which may be left over from an earlier function, or "". Source that mentions their
// ending, or embeds files, may read them.
func (l Language) Unused(dir string) string {
	const most, limit = 3, 1 << 20
	var names []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if isTemplate(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if err != nil || len(names) == 0 || l.Name == "go-templating" {
		return ""
	}
	errRead := errors.New("the source reads templates")
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && name != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case err != nil || !d.Type().IsRegular() || isTemplate(name):
			return err
		}
		text, err := fsx.ReadFile(name, limit)
		if err != nil || bytes.Contains(text, []byte("tmpl")) || bytes.Contains(text, []byte("go:embed")) {
			return errRead
		}
		return nil
	})
	if err != nil {
		return ""
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the function is in %s, because it has %s, and does not use its templates: %s", l.Name, l.Marks, strings.Join(names, ", "))
}

// ReportUnused reports the warning of Unused.
func (l Language) ReportUnused(dir string, report progress.Func) {
	if unused := l.Unused(dir); unused != "" {
		report.Warn(dir + ": " + unused + "; " + RemoveUnused)
	}
}

// RemoveUnused is the next action for a warning of Unused.
const RemoveUnused = "remove them, or the files of the other language"

// isTemplate reports whether a file is a template of an object. The ending .tmpl alone is not enough,
// because other templates have it, too.
func isTemplate(name string) bool {
	return filepath.Ext(name) == ".gotmpl" || strings.HasSuffix(name, ".yaml.tmpl")
}

// A Source is the source of a function.
type Source struct {
	Dir string
	// Root is the folder that all files of the function must be in, also those outside of
	// Dir: the folder of a project. Empty means Dir.
	Root string
	// Project selects the image layout of the crossplane CLI's project build. Languages
	// without an older layout ignore it.
	Project bool
	// Platforms are the Linux platforms of the images. At least one is required.
	Platforms []v1.Platform
	// Base are the base images. Nil means the minimal image of runtimeimage.
	Base *runtimeimage.Images
	// Labels are added to the config of each image.
	Labels map[string]string
	// Artifacts says where to find the packages that lock files list.
	Artifacts Artifacts
	// NoBundle keeps the packages of a function in TypeScript as files in node_modules.
	NoBundle bool
	// LDFlags and GoFlags are flags for go build: gobuild.Options.LDFlags and
	// gobuild.Options.Flags.
	LDFlags string
	GoFlags []string
}

// Artifacts configure how packages of languages are fetched and cached, such as wheels of
// Python.
type Artifacts struct {
	// Client downloads files.
	Client *http.Client
	// Dir is the folder of the cache. Its content is found by digest.
	Dir string
	// Offline forbids downloads.
	Offline bool
	// Index is the URL of the package index (PEP 503) that replaces the URLs in lock files of
	// Python. Empty uses the lock file.
	Index string
}

// A Result has the images of a function. The caller closes Images.
type Result struct {
	Images *runtimeimage.Images
	// Materials list what the images contain besides the source: dependencies and base images,
	// sorted by name and version.
	Materials []Material
}

// Has reports whether dir has a regular file, or a link to one, with this name.
func Has(dir, name string) (bool, error) {
	info, err := os.Stat(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fsx.Cause(err)
	}
	return info.Mode().IsRegular(), nil
}

// Root returns the folder of the project that dir is part of: the folder with a project
// file, or otherwise the root of the git repository, or otherwise dir.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root, found := dir, false
	for at := range fsx.Parents(abs) {
		for _, name := range []string{"crossplane-project.yaml", "upbound.yaml"} {
			if _, err := os.Stat(filepath.Join(at, name)); err == nil {
				return at, nil
			}
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && !found {
			root, found = at, true
		}
	}
	return root, nil
}
