package scaffold

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/templates"
)

// RFC 1123, label names, as Kubernetes has them, but with a letter in front.
var label = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`) })

const maxLabel = 63

// checkName says whether name can be a Go module and a Kubernetes object.
func checkName(name string) error {
	const form = "use at most 63 lower-case letters, digits and dashes, beginning with a letter and ending with a letter or a digit, such as function-colours"
	if len(name) > maxLabel || !label().MatchString(name) {
		return hint.Wrap(fmt.Errorf("%q cannot name a function: it has to make a Kubernetes name and a Go module", name), form)
	}
	if slices.Contains(goNames, name) {
		return hint.Wrap(fmt.Errorf("%q cannot name a function: Go has a package of its own by that name", name), "use a longer name, such as function-"+name)
	}
	return nil
}

// goNames are the first elements of the import paths of Go's own packages, and
// the words that the go command takes for something else than a package. Under
// a module of such a name an import finds Go's package, two, or none.
var goNames = strings.Fields(`
	all cmd go std tool work
	archive arena bufio builtin bytes cmp compress container context crypto database
	debug embed encoding errors expvar flag fmt hash html image index internal io
	iter log maps math mime net os path plugin reflect regexp runtime simd slices
	sort strconv strings structs sync syscall testing text time unicode unique
	unsafe vendor weak`)

// renamed lists the files of a bundled template, with name for the placeholder
// in their texts and paths.
func renamed(from fs.FS, name string) ([]file, error) {
	var files []file
	err := fs.WalkDir(from, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == "." {
			return err
		}
		to := strings.ReplaceAll(strings.TrimSuffix(at, ".tmpl"), templates.Placeholder, name)
		if d.IsDir() {
			files = append(files, file{path: to, mode: fs.ModeDir})
			return nil
		}
		data, err := fs.ReadFile(from, at)
		if err != nil {
			return err
		}
		if utf8.Valid(data) {
			data = bytes.ReplaceAll(data, []byte(templates.Placeholder), []byte(name))
		}
		files = append(files, file{path: to, mode: 0o644, size: int64(len(data)), open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}})
		return nil
	})
	return files, err
}
