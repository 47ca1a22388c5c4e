package npm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	// LockFile is the name of npm's lock file.
	LockFile = "package-lock.json"
	// MaxLock limits the bytes of a lock file.
	MaxLock = 64 << 20
	// maxPackages limits the packages in a lock file.
	maxPackages = 100_000

	modules = "node_modules"
)

// A Lock is the content of a package-lock.json.
type Lock struct {
	// entries are the packages by location, a path relative to the lock file. The location
	// "" is the project, and node_modules/x is a package.
	entries map[string]*entry
}

// An entry is a package in a lock file ("package-lock.json", npm documentation).
type entry struct {
	Name             string `json:"name"`
	Version          string `json:"version"`
	Resolved         string `json:"resolved"`
	Integrity        string `json:"integrity"`
	Link             bool   `json:"link"`
	Dev              bool   `json:"dev"`
	InBundle         bool   `json:"inBundle"`
	HasInstallScript bool   `json:"hasInstallScript"`

	OS   list `json:"os"`
	CPU  list `json:"cpu"`
	Libc list `json:"libc"`

	Requirements
	Peers         map[string]string       `json:"peerDependencies"`
	PeersMetadata map[string]peerMetadata `json:"peerDependenciesMeta"`
}

type peerMetadata struct {
	Optional bool `json:"optional"`
}

// Requirements are the packages that a package needs at run time: version ranges by name.
type Requirements struct {
	Dependencies map[string]string `json:"dependencies"`
	// Optional replaces entries of Dependencies.
	Optional map[string]string `json:"optionalDependencies"`
}

type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// ParseLock parses a package-lock.json of version 2 or 3.
func ParseLock(data []byte) (*Lock, error) {
	var file struct {
		Version  int               `json:"lockfileVersion"`
		Packages map[string]*entry `json:"packages"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, explainJSON(data, err)
	}
	switch {
	case file.Version != 2 && file.Version != 3:
		return nil, hint.Wrap(fmt.Errorf("expected lockfileVersion 2 or 3, got %d", file.Version), "run npm install with npm 7 or later")
	case file.Packages[""] == nil:
		return nil, hint.Wrap(errors.New("the project has no entry in \"packages\""), regenerate)
	case len(file.Packages) > maxPackages:
		return nil, fmt.Errorf("the file has %d packages, more than the limit of %d", len(file.Packages), maxPackages)
	}
	for at, e := range file.Packages {
		if err := e.check(at); err != nil {
			return nil, fmt.Errorf("package %q: %w", at, err)
		}
	}
	return &Lock{file.Packages}, nil
}

// regenerate is a hint for wrong lock files.
const regenerate hint.Hint = "run npm install, which writes a new " + LockFile

func (e *entry) check(at string) error {
	if e == nil {
		return errors.New("expected an object, got null")
	}
	if err := checkLocation(at); err != nil {
		return err
	}
	if e.Name != "" && isInstalled(at) && !isName(e.Name) {
		return fmt.Errorf("%q is not the name of a package", e.Name)
	}
	if e.Link {
		if err := checkLocation(e.Resolved); err != nil || isInstalled(e.Resolved) {
			return fmt.Errorf("expected a folder of the project as the target of a link, got %q", e.Resolved)
		}
	}
	return nil
}

// isInstalled reports whether a location is in a folder node_modules.
func isInstalled(at string) bool {
	return strings.HasPrefix(at, modules+"/") || strings.Contains(at, "/"+modules+"/")
}

// nameOf returns the name by which programs import the package at a location.
func nameOf(at string) string {
	return at[strings.LastIndex("/"+at, "/"+modules+"/")+len(modules)+1:]
}

var namePattern = proc.Regexp(`^(@[\w~-][\w.~*'!()-]*/)?[\w~-][\w.~*'!()-]*$`)

// isName reports whether name is a name of a package. Such a name is also a safe path.
func isName(name string) bool {
	return len(name) <= 214 && namePattern().MatchString(name) && path.Base(name) != modules
}

// checkLocation returns an error unless at is "", a folder, or packages in node_modules
// folders, with slashes. Only the folder may begin with "../".
func checkLocation(at string) error {
	folder, installed := at, ""
	if i := strings.Index("/"+at, "/"+modules+"/"); i >= 0 {
		folder, installed = strings.TrimSuffix(at[:i], "/"), at[i:]
	}
	inside := folder
	for strings.HasPrefix(inside, "../") {
		inside = inside[3:]
	}
	if folder != "" && (path.Clean(folder) != folder || path.IsAbs(folder) || strings.HasPrefix(inside, "..") && inside != ".." || strings.ContainsAny(folder, "\\:\x00")) {
		return errors.New("expected a clean relative path")
	}
	if installed == "" {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(installed, modules+"/"), "/"+modules+"/") {
		if !isName(name) {
			return fmt.Errorf("%q is not the name of a package", name)
		}
	}
	return nil
}

// explainJSON adds the line and the next action to an error of json.Unmarshal.
func explainJSON(data []byte, err error) error {
	offset, next := int64(0), hint.Hint("")
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset, next, err = explainSyntax(data[:min(e.Offset, int64(len(data)))], err)
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kinds := map[reflect.Kind]string{reflect.Map: "an object", reflect.Struct: "an object", reflect.Slice: "a list", reflect.Int: "a number"}
		field := strings.ReplaceAll(e.Field, reflect.TypeFor[Requirements]().Name()+".", "") // Its fields are embedded.
		offset, err = e.Offset, fmt.Errorf("%s must be %s, got %s", cmp.Or(field, "the file"), cmp.Or(kinds[e.Type.Kind()], "a string"), e.Value)
		next = "correct the value"
	} else {
		return err
	}
	if bytes.Contains(data, []byte("\n<<<<<<< ")) {
		next = "resolve the merge conflict with npm install"
	}
	return hint.Wrap(fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")), err), next)
}

// explainSyntax explains err, the error of a JSON file whose first invalid character is the last of
// read. It returns the offset of the mistake, the next action, and an error that describes it.
func explainSyntax(read []byte, err error) (int64, hint.Hint, error) {
	before := bytes.TrimRight(read[:max(len(read)-1, 0)], " \t\r\n")
	last, wrong := before[max(len(before)-1, 0):], read[max(len(read)-1, 0):]
	switch {
	case bytes.ContainsAny(wrong, "]}") && string(last) == ",":
		return int64(len(before)), "remove the comma", fmt.Errorf("a comma before %s", wrong)
	case string(wrong) == `"` && strings.HasSuffix(err.Error(), " pair"), strings.HasSuffix(err.Error(), " after array element"):
		return int64(len(before)), "add it", errors.New("a comma or a bracket is missing at the end")
	case string(wrong) == "/":
		return int64(len(read)), "remove the comment", errors.New("JSON has no comments")
	case string(wrong) == "'":
		return int64(len(read)), "write double quotes", errors.New("JSON has no single quotes")
	default:
		return int64(len(read)), "correct the JSON", err
	}
}
