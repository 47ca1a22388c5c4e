package languages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/golang"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/language/typescript"
)

// All returns all languages. Detect tries them in this order, as the crossplane CLI does.
func All() []language.Language {
	return []language.Language{
		KCL(),
		python.Language(),
		golang.Language(),
		typescript.Language(),
		GoTemplating(),
	}
}

// Detect returns the language of the source in dir. If dir has source of no known language,
// the error says what the source of one language lacks, or else lists the files by which a
// language is recognized.
func Detect(dir string) (language.Language, error) {
	var marks []string
	for _, l := range All() {
		found, err := l.Detect(dir)
		if err != nil {
			return language.Language{}, fmt.Errorf("detecting the language of %q: %w", dir, err)
		}
		if found {
			return l, nil
		}
		marks = append(marks, fmt.Sprintf("%s (%s)", l.Marks, l.Name))
	}
	entries, err := os.ReadDir(dir)
	if err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() || !strings.HasPrefix(e.Name(), ".") }) {
		err := fmt.Errorf("detecting the language of %q: the directory is empty", dir)
		return language.Language{}, hint.Wrap(err, "add the source of the function, as xfn function generate does, or remove the directory")
	}
	err = fmt.Errorf("detecting the language of %q: expected %s", dir, strings.Join(marks, ", or "))
	if old, _ := language.Has(dir, "main.py"); old {
		err = hint.Wrap(fmt.Errorf("%w; a function of only main.py, the old layout of Upbound, needs a base image that is not known", err),
			"create a function in Python with xfn function generate, and call compose of main.py in its RunFunction")
	} else if lacks := lacks(dir); lacks != nil {
		err = fmt.Errorf("detecting the language of %q: %w", dir, lacks)
	}
	return language.Language{}, err
}

// lacks returns an error that says what dir lacks to be the source of a language, or nil.
// Templates say more about the language than the manifests of other tools.
func lacks(dir string) error {
	for _, l := range slices.Backward(All()) {
		if l.Lacks == nil {
			continue
		}
		if err := l.Lacks(dir); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the language and the path of the source in dir or, if dir has no source, in its
// folder function. The templates of xpkg init have the source there for languages without a
// manifest.
func Find(dir string) (lang language.Language, source string, err error) {
	if lang, err = Detect(dir); err == nil {
		return lang, dir, nil
	}
	below := filepath.Join(dir, "function")
	if !filepath.IsAbs(below) && !strings.HasPrefix(below, "..") {
		below = "." + string(filepath.Separator) + below // A path without a dot is a package's reference.
	}
	found, belowErr := Detect(below)
	switch {
	case belowErr == nil:
		return found, below, nil
	case lacks(dir) == nil && lacks(below) != nil:
		return lang, dir, belowErr
	}
	return lang, dir, err
}

// ByName returns the language with this name.
func ByName(name string) (language.Language, error) {
	var names []string
	for _, l := range All() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	err := fmt.Errorf("unknown language %q: expected one of %s", name, strings.Join(names, ", "))
	return language.Language{}, hint.Wrap(err, hint.Meant("", hint.Nearest(name, names)))
}
