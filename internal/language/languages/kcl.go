package languages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/manifest"
)

const (
	// kclBase is the base image of the crossplane CLI v2.5.
	kclBase = "xpkg.crossplane.io/crossplane-contrib/function-kcl:v0.12.1"
	// kclOwner is the user of function-kcl, which owns the source in the image.
	kclOwner = 2000
)

// KCL describes functions in KCL. Links in their source are followed, such as the link to the
// generated models of a project.
func KCL() language.Language {
	kcl := interpreted{
		owner: kclOwner, followLinks: true, endings: []string{".k"},
		env: []string{"FUNCTION_KCL_DEFAULT_SOURCE=" + sourcePath, "KCL_PKG_PATH=" + sourcePath},
	}
	return language.Language{
		Name:   "kcl",
		Marks:  "kcl.mod",
		Base:   kclBase,
		Detect: func(dir string) (bool, error) { return language.Has(dir, "kcl.mod") },
		Check: func(_ context.Context, src language.Source) error {
			if err := kcl.check(src); err != nil {
				return err
			}
			return checkKCL(src.Dir)
		},
		Build: kcl.build,
		Watch: linked,
	}
}

// checkKCL returns the errors in the files of a package that need no compiler of KCL.
func checkKCL(dir string) error {
	const module, main, limit = "kcl.mod", "main.k", 1 << 20
	text, err := fsx.ReadFile(filepath.Join(dir, module), limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // A user can name the language of other folders.
		return fmt.Errorf("reading %q: %w", module, err)
	}
	var wrong toml.ParseError
	var tables map[string]any
	if err := toml.Unmarshal(text, &tables); errors.As(err, &wrong) {
		err := &manifest.Error{Path: filepath.Join(dir, module), Line: wrong.Position.Line, Err: errors.New(wrong.Message)}
		return hint.Wrap(err, "write TOML, such as a table [package] with name and version")
	}
	if part, err := checkTables(dir, tables); err != nil {
		return language.ErrorAt(filepath.Join(dir, module), string(text), part, err)
	}
	info, err := os.Stat(filepath.Join(dir, main))
	if err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return hint.Wrap(fmt.Errorf("%s: the file is empty", filepath.Join(dir, main)), "write the composed resources, as in items = [{apiVersion = \"v1\", kind = \"ConfigMap\"}]")
	}
	_, hasProfile := tables["profile"]
	hasSettings, err := language.Has(dir, "kcl.yaml")
	return errors.Join(err, checkSyntax(dir, !hasProfile && !hasSettings))
}

// checkSyntax returns the first error of brackets and strings in the files of a package. If isWhole is
// true, no other files are part of the package, and it also returns an error for an undefined name.
func checkSyntax(dir string, isWhole bool) error {
	const limit = 1 << 20
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading %q: %w", dir, fsx.Cause(err))
	}
	names := kclNames{count: map[string]int{}}
	for _, e := range entries {
		name := e.Name()
		if filepath.Ext(name) != ".k" || e.IsDir() {
			continue
		}
		if !e.Type().IsRegular() || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_test.k") {
			isWhole = isWhole && e.Type().IsRegular()
			continue
		}
		text, err := fsx.ReadFile(filepath.Join(dir, name), limit)
		if err != nil {
			return fmt.Errorf("reading %q: %w", name, err)
		}
		if at, wrong := syntaxError(string(text)); wrong != "" {
			return language.SyntaxError(filepath.Join(dir, name), string(text), at, wrong)
		}
		names.add(filepath.Join(dir, name), string(text))
	}
	if !isWhole {
		return nil
	}
	return names.undefined()
}

// syntaxError returns the offset and the text of an error that needs no parser: brackets that do not
// match, a string that is not closed, or = twice. The text is "" if there is none. Strings and
// comments end as for KCL (kcl-lang/kcl, crates/lexer).
func syntaxError(source string) (at int, text string) {
	var open language.Brackets
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case c == '#':
			for i+1 < len(source) && source[i+1] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			n := stringLength(source[i:])
			if n == 0 {
				return i, "unterminated string literal"
			}
			i += n - 1
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, i)
		case strings.IndexByte(")]}", c) >= 0:
			if text := open.Close(source, i); text != "" {
				return i, text
			}
		case strings.HasPrefix(source[i:], "=="):
			i++
		case c == '=' && strings.HasPrefix(strings.TrimLeft(source[i+1:], " \t"), "="):
			return i, "expected a value after =, got ="
		}
	}
	return open.Unclosed(source)
}

// stringLength returns the length of the string at the start of text, or 0 if it is not closed.
func stringLength(text string) int {
	quote, line := text[:1], true
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote, line = text[:3], false
	}
	for i := len(quote); i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '\\' && len(rest) > 1 && (rest[1] == '\\' || rest[1] == quote[0]):
			i++
		case strings.HasPrefix(rest, quote):
			return i + len(quote)
		case line && len(rest) > 1 && (rest[1] == '\r' || rest[1] == '\n'):
			return 0
		}
	}
	return 0
}

// checkTables returns an error about the tables of kcl.mod: one with a misspelled name, or a dependency
// whose folder does not exist, and the part of kcl.mod to correct.
func checkTables(dir string, tables map[string]any) (part string, err error) {
	known := []string{"package", "dependencies", "profile"}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		near := hint.Misspelled(name, known)
		if _, has := tables[near]; !has && near != "" {
			return name, hint.Wrap(fmt.Errorf("unknown table %q", name), hint.Meant("", near))
		}
	}
	needs, _ := tables["dependencies"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		need, _ := needs[name].(map[string]any)
		at, _ := need["path"].(string)
		// The target of a link, such as to generated models, may be missing until a build.
		if _, err := os.Lstat(filepath.Join(dir, at)); at != "" && filepath.IsLocal(at) && errors.Is(err, fs.ErrNotExist) {
			return strconv.Quote(at), hint.Wrap(fmt.Errorf("finding the folder %q of the dependency %q: %w", at, name, fsx.Cause(err)), "create the folder, or correct its path")
		}
	}
	return "", nil
}

// linked returns a folder and the targets of its links.
func linked(dir string) ([]string, error) {
	all := []string{dir}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() != fs.ModeSymlink {
			return err
		}
		target, err := filepath.EvalSymlinks(name)
		if os.IsNotExist(err) {
			return nil
		}
		all = append(all, target)
		return err
	})
	return all, fsx.Cause(err)
}
