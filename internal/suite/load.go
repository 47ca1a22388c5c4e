package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/suite/foreign"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A Suite is a parsed suite with its name and path.
type Suite struct {
	// Name is the name in reports. It is metadata.name, or the file's path if the suite has
	// no name or another suite has the same name. For further such suites in a file, the
	// line is appended.
	Name string
	// Path is the path of the file, relative to the path that the user passed.
	Path string
	// Suite is nil if Err is set. Err joins all errors of the suite as a whole.
	*spec.Suite
	Err error
	// Warnings are about keys that YAML reads as booleans, and about fields without effect in suites
	// of other tools.
	Warnings []error
}

// ErrNone is the error if no suite was found.
var ErrNone = errors.New("there is no suite")

// Load returns the suites in files and folders, in the order of paths. A
// folder, with or without "/..." at the end, is searched recursively for .yaml
// and .yml files with documents of kind TestSuite, or with tests of other tools: see package
// foreign. The tests of other tools in a file are one suite. Hidden folders and symbolic
// links to folders in it are skipped. For a file that cannot be parsed, Load returns a
// suite with Err. A path that does not exist is an error. If ctx is done, Load returns the cause
// at once, even while it decodes a large file.
func Load(ctx context.Context, r manifest.Reader, paths []string) ([]*Suite, error) {
	return proc.Await(ctx, func() ([]*Suite, error) { return loadAll(ctx, r, paths) })
}

func loadAll(ctx context.Context, r manifest.Reader, paths []string) ([]*Suite, error) {
	var files []string
	named := map[string]bool{}
	for _, path := range paths {
		found, explicit, err := find(ctx, r.FS, path)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if explicit || !slices.Contains(files, f) {
				files = append(files, f)
			}
			named[f] = named[f] || explicit
		}
	}
	var all []*Suite
	for _, file := range slices.Compact(files) {
		suites, err := load(ctx, r, file, named[file])
		if err != nil {
			return nil, err
		}
		all = append(all, suites...)
	}
	if len(all) == 0 {
		return nil, hint.Wrap(fmt.Errorf("looking in %s: %w", strings.Join(paths, ", "), ErrNone),
			"a suite is a YAML file with apiVersion: "+spec.APIVersion+" and kind: "+spec.Kind)
	}
	nameAll(all)
	return all, nil
}

// nameAll assigns unique names to suites. Suites in one file that have no name of their own get
// the line of the suite, too.
func nameAll(all []*Suite) {
	count := map[string]int{}
	for _, s := range all {
		if s.Suite != nil {
			s.Name = s.Suite.Name
		}
		count[s.Name]++
	}
	for _, s := range all {
		if s.Name == "" || count[s.Name] > 1 {
			s.Name = filepath.ToSlash(s.Path)
		}
	}
	for i, s := range all {
		sameName := func(o *Suite) bool { return o.Name == s.Name }
		if s.Suite != nil && slices.ContainsFunc(all[:i], sameName) {
			s.Name = filepath.ToSlash(s.Document.Position())
		}
	}
}

func isLinkToDir(fsys afero.Fs, path string) bool {
	l, ok := fsys.(afero.Lstater)
	if !ok {
		return false
	}
	info, _, err := l.LstatIfPossible(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	info, err = fsys.Stat(path)
	return err == nil && info.IsDir()
}

// find returns the files of a path. explicit is true if the path is a file.
func find(ctx context.Context, fsys afero.Fs, path string) (all []string, explicit bool, err error) {
	if dir, ok := strings.CutSuffix(filepath.ToSlash(path), "/..."); ok {
		path = filepath.FromSlash(dir)
	}
	path = filepath.Clean(path)
	if isLinkToDir(fsys, path) { // afero.Walk follows a link only if path ends in a separator.
		path += string(filepath.Separator)
	}
	err = afero.Walk(fsys, path, func(p string, info fs.FileInfo, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case p == path && !info.IsDir():
			all, explicit = append(all, p), true
		case info.IsDir() && p != path && strings.HasPrefix(info.Name(), "."):
			return filepath.SkipDir
		case (manifest.IsYAML(p) || foreign.IsProgram(p)) && manifest.IsFile(fsys, p, info.Mode()):
			all = append(all, p)
		}
		return nil
	})
	if err != nil {
		return nil, false, hint.Wrap(fmt.Errorf("looking for suites in %q: %w", path, fsx.Cause(err)), manifest.Similar(fsys, path))
	}
	return all, explicit, nil
}

// kindLine matches "kind: TestSuite", and the kinds of tests of other tools, also in JSON. Files
// without it need not be parsed.
var kindLine = sync.OnceValue(func() *regexp.Regexp {
	kinds := strings.Join(append(foreign.Kinds(), spec.Kind), "|")
	return regexp.MustCompile(`(?m)^(\s*"|'|\{.*)?kind["']?\s*:\s*["']?(` + kinds + `)["']?\s*([#,}].*)?\r?$`)
})

// itemLine matches the kinds of tests of other tools in a list.
var itemLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(-\s+)?kind\s*:\s*["']?(` + strings.Join(foreign.Kinds(), "|") + `)["']?\s*(#.*)?\r?$`)
})

// ownLine matches the apiVersion of suites, whose kind may be misspelled, also in JSON.
var ownLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\s*"|\{.*)?apiVersion"?\s*:\s*["']?` + regexp.QuoteMeta(spec.APIVersion))
})

// mayBeSuite reports whether a file or document must be parsed to find out whether it is a suite.
func mayBeSuite(text []byte) bool {
	isUTF16 := bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
	hasKind := bytes.Contains(text, []byte("Test")) && (kindLine().Match(text) || itemLine().Match(text)) // "Test" is in each kind.
	return isUTF16 || hasKind || ownLine().Match(text)
}

// isMisspelled reports whether obj is of the apiVersion of suites, and its kind is a misspelling of theirs.
func isMisspelled(obj map[string]any) bool {
	const edits = 2
	kind, _ := obj["kind"].(string)
	return obj["apiVersion"] == spec.APIVersion && hint.EditDistance(strings.ToLower(kind), strings.ToLower(spec.Kind)) <= edits
}

// load returns the suites in a file. It is an error if the file has none and
// explicit is true.
func load(ctx context.Context, r manifest.Reader, path string, explicit bool) ([]*Suite, error) {
	text, err := r.Bytes(ctx, path)
	if err != nil {
		return nil, err
	}
	if foreign.IsProgram(path) {
		if tests := foreign.Program(path, text); explicit || len(tests) > 0 {
			return []*Suite{converted(path, tests)}, nil
		}
		return nil, nil
	}
	if !explicit && !mayBeSuite(text) && !foreign.IsXprin(path) {
		return nil, nil
	}
	docs, err := manifest.Split(path, text)
	r.Suspect(docs...)
	if err == nil && len(docs) == 0 {
		err = &manifest.Error{Path: path, Err: manifest.ErrEmpty}
	}
	if err != nil {
		return []*Suite{{Path: path, Err: err}}, nil
	}
	var all []*Suite
	var tests []spec.Converted
	for _, doc := range docs {
		obj, err := doc.Object()
		switch {
		case foreign.IsXprin(path) && obj["kind"] == nil:
			s := &Suite{Path: doc.Path}
			var cases []spec.Converted
			if cases, s.Warnings, s.Err = foreign.Xprin(ctx, r, doc); s.Err == nil {
				s.Suite = spec.FromConverted(doc.Path, cases)
			}
			all = append(all, s)
		case !explicit && !mayBeSuite(doc.Text):
		case foreign.Is(obj):
			tests = append(tests, foreign.Tests(ctx, r, doc)...)
		case err == nil && !explicit && !spec.Is(obj) && !isMisspelled(obj):
			// The document is not a suite.
		default:
			s := &Suite{Path: path}
			s.Suite, s.Err = spec.Parse(doc)
			for _, at := range doc.BooleanKeys() {
				s.Warnings = append(s.Warnings, at)
			}
			all = append(all, s)
		}
	}
	if len(tests) > 0 {
		all = append(all, converted(path, tests))
	}
	return all, nil
}

func converted(path string, tests []spec.Converted) *Suite {
	s := &Suite{Path: path, Suite: spec.FromConverted(path, tests)}
	for _, t := range tests {
		s.Warnings = append(s.Warnings, t.Warnings...)
	}
	return s
}

// IsForeign reports whether a suite is a suite of another tool.
func (s *Suite) IsForeign() bool {
	return s.Suite != nil && s.IsConverted() || s.Suite == nil && foreign.IsXprin(s.Path)
}

// Convert returns the path and the text of a suite that has the cases of s, a suite of another
// tool. It is beside the file of s, because paths of a case are relative to its suite. Convert
// returns the errors of all cases that cannot be converted, each with its position.
func Convert(s *Suite) (path string, text []byte, err error) {
	if s.Err != nil {
		return "", nil, s.Err
	}
	file, err := s.File()
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := manifest.Write(&b, file); err != nil {
		return "", nil, err
	}
	return strings.TrimSuffix(s.Path, filepath.Ext(s.Path)) + ".xfn.yaml", b.Bytes(), nil
}
