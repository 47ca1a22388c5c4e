package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
)

const (
	// maxSize bounds a lock file: many thousand images.
	maxSize = 4 << 20
	// maxImages bounds the images of a list.
	maxImages = 10_000
)

// Read reads a lock file of up to 4 MiB. A missing file is fs.ErrNotExist. What is
// wrong in it is an error with its line.
func Read(path string) (*Lock, error) {
	l, _, err := ReadText(path)
	return l, err
}

// ReadText is Read, and returns the text of the file too.
func ReadText(path string) (*Lock, []byte, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	l, err := Parse(path, data)
	return l, data, err
}

func readFile(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading lock file %q: %w", path, fsx.Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading lock file %q: %w", path, fsx.Cause(err))
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("reading lock file %q: it is larger than %d MiB", path, maxSize>>20)
	}
	return data, nil
}

// Parse reads the text of the lock file at path. Every fault is an error with its
// line: there is nothing in a lock file that may be passed over.
func Parse(path string, data []byte) (*Lock, error) {
	l, err := parse(path, data)
	if err != nil {
		return nil, fmt.Errorf("reading lock file: %w", err)
	}
	return l, nil
}

func parse(path string, data []byte) (*Lock, error) {
	if line := conflict(data); line > 0 {
		err := &manifest.Error{Path: path, Line: line, Err: errors.New("it holds an unresolved merge conflict of git")}
		return nil, hint.Wrap(err, "take either side, then run xfn lock")
	}
	docs, err := manifest.Split(path, data)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return nil, &manifest.Error{Path: path, Err: manifest.ErrEmpty}
	case len(docs) > 1:
		return nil, &manifest.Error{Path: path, Line: docs[1].Line, Err: errors.New("a lock file contains one document")}
	}
	if _, err := docs[0].StrictJSON(); err != nil {
		return nil, err
	}
	obj, err := docs[0].Object()
	if err != nil {
		return nil, err
	}
	p := &parser{doc: docs[0], lines: docs[0].Lines()}
	l := p.lock(obj)
	l.Path = path
	return l, p.err
}

// conflict returns the line at which git marks a conflict, or 0.
func conflict(data []byte) int {
	line := 0
	for l := range bytes.Lines(data) {
		line++
		for _, mark := range []string{"<<<<<<< ", "||||||| ", ">>>>>>> "} {
			if bytes.HasPrefix(l, []byte(mark)) {
				return line
			}
		}
	}
	return 0
}

// A parser keeps the first fault that it finds.
type parser struct {
	doc   manifest.Document
	lines manifest.Lines
	err   error
}

func (p *parser) fault(field, format string, args ...any) {
	if p.err == nil {
		p.err = &manifest.Error{Path: p.doc.Path, Line: p.lines.Of(field), Err: fmt.Errorf(format, args...)}
	}
}

func (p *parser) lock(obj map[string]any) *Lock {
	if obj["apiVersion"] != apiVersion || obj["kind"] != kind {
		p.fault("apiVersion", "expected a %s of %s, got kind %v of %v", kind, apiVersion, obj["kind"], obj["apiVersion"])
		return &Lock{}
	}
	p.known("", obj, "apiVersion", "kind", "files", "functions", "baseImages")
	l := &Lock{
		Files:      p.texts("files", obj["files"]),
		Functions:  p.images("functions", obj["functions"]),
		BaseImages: p.images("baseImages", obj["baseImages"]),
	}
	p.agree(l)
	return l
}

// known refuses fields that say something which this version cannot know.
func (p *parser) known(at string, obj map[string]any, fields ...string) {
	for _, field := range slices.Sorted(maps.Keys(obj)) {
		if !slices.Contains(fields, field) {
			where := strings.TrimPrefix(at+"."+field, ".")
			p.fault(where, "unknown field %s", where)
		}
	}
}

func (p *parser) list(at string, v any) []any {
	list, ok := v.([]any)
	if !ok && v != nil {
		p.fault(at, "%s has to be a list", at)
	}
	if len(list) > maxImages {
		p.fault(at, "%s has more than %d entries", at, maxImages)
		return nil
	}
	return list
}

func (p *parser) texts(at string, v any) []string {
	var all []string
	for i, v := range p.list(at, v) {
		all = append(all, p.text(fmt.Sprintf("%s[%d]", at, i), v))
	}
	return all
}

func (p *parser) text(at string, v any) string {
	s, ok := v.(string)
	if !ok || s == "" {
		p.fault(at, "%s has to be a text", at)
	}
	return s
}

func (p *parser) images(at string, v any) []Image {
	var all []Image
	seen := map[key]bool{}
	for i, v := range p.list(at, v) {
		at := fmt.Sprintf("%s[%d]", at, i)
		image := p.image(at, v)
		if p.err == nil && seen[image.key()] {
			p.fault(at, "%s is locked twice", strings.TrimSpace(image.key().name+" "+image.Constraint))
		}
		if p.err != nil {
			return nil
		}
		seen[image.key()] = true
		all = append(all, image)
	}
	return all
}

func (p *parser) image(at string, v any) Image {
	obj, ok := v.(map[string]any)
	if !ok {
		p.fault(at, "%s has to be an object", at)
		return Image{}
	}
	p.known(at, obj, "reference", "constraint", "digest", "platforms")
	i := Image{Reference: p.text(at+".reference", obj["reference"]), Digest: p.text(at+".digest", obj["digest"]), Platforms: p.texts(at+".platforms", obj["platforms"])}
	if obj["constraint"] != nil {
		i.Constraint = p.text(at+".constraint", obj["constraint"])
	}
	if p.err == nil {
		p.check(at, i)
	}
	return i
}

// check finds what an image cannot be.
func (p *parser) check(at string, i Image) {
	ref, err := remote.ParseReference(i.Reference, "")
	if err != nil || ref.Name() != i.Reference {
		p.fault(at+".reference", "%q is not a full reference, REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST", i.Reference)
		return
	}
	_, isDigest := ref.(name.Digest)
	switch {
	case !IsDigest(i.Digest):
		p.fault(at+".digest", "%q is not a digest", i.Digest)
	case isDigest && ref.Identifier() != i.Digest:
		p.fault(at+".digest", "%s is not the digest of %s", i.Digest, i.Reference)
	case i.Constraint == "":
	case isDigest && i.Constraint != i.Digest, !isDigest && !Allows(i.Constraint, ref.Identifier()):
		p.fault(at+".constraint", "the constraint %s does not allow %s", i.Constraint, i.Reference)
	}
}

// agree finds two digests of one reference.
func (p *parser) agree(l *Lock) {
	digests := map[string]string{}
	for n, i := range l.images() {
		at := fmt.Sprintf("functions[%d].digest", n)
		if n >= len(l.Functions) {
			at = fmt.Sprintf("baseImages[%d].digest", n-len(l.Functions))
		}
		if before, ok := digests[i.Reference]; ok && before != i.Digest {
			p.fault(at, "%s is locked with two digests", i.Reference)
		}
		digests[i.Reference] = i.Digest
	}
}
