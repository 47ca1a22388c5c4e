package lock

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/remote"
)

const (
	// maxSize limits the bytes of a lock file. This is enough for thousands of images.
	maxSize = 4 << 20
	// maxImages limits the images in each list of a lock file.
	maxImages = 10_000
)

// Read reads a lock file of up to 4 MiB. If the file does not exist, the error is
// fs.ErrNotExist. Errors in the file's content have a line number.
func Read(path string) (*Lock, error) {
	l, _, err := ReadText(path)
	return l, err
}

// ReadText is Read, and also returns the text of the file.
func ReadText(path string) (_ *Lock, data []byte, err error) {
	if data, err = fsx.ReadFile(path, maxSize); err != nil {
		return nil, nil, fmt.Errorf("reading lock file %q: %w", path, err)
	}
	l, err := Parse(path, data)
	return l, data, err
}

// Parse parses the text of the lock file at path. It rejects unknown fields. Errors have a
// line number.
func Parse(path string, data []byte) (*Lock, error) {
	l, err := parse(path, data)
	if err != nil {
		return nil, fmt.Errorf("reading lock file: %w", err)
	}
	return l, nil
}

func parse(path string, data []byte) (*Lock, error) {
	if line := manifest.Conflict(data); line > 0 {
		err := &manifest.Error{Path: path, Line: line, Err: errors.New("unresolved git merge conflict")}
		return nil, hint.Wrap(err, "resolve the conflict with either side, then run xfn lock")
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
		return nil, hint.Wrap(err, "write the lock file with xfn lock, as in xfn lock functions.yaml")
	}
	obj, err := docs[0].Object()
	if err != nil {
		return nil, err
	}
	fault := func(field string, err error) error {
		return &manifest.Error{Path: path, Line: docs[0].Lines().Of(field), Err: err}
	}
	if obj["apiVersion"] == nil && obj["kind"] == nil {
		return nil, fault("", fmt.Errorf("expected a %s of %s, but apiVersion and kind are missing", kind, apiVersion))
	}
	if obj["apiVersion"] != apiVersion || obj["kind"] != kind {
		return nil, fault("apiVersion", fmt.Errorf("expected a %s of %s, got kind %v of %v", kind, apiVersion, obj["kind"], obj["apiVersion"]))
	}
	var f file
	for _, wrong := range manifest.DecodeStrict(obj, &f) {
		return nil, fault(wrong.Field(), wrong)
	}
	l := &Lock{Path: path, Files: f.Files, Functions: f.Functions, BaseImages: f.BaseImages, Packages: f.Packages, APIs: f.APIs}
	if field, err := l.check(); err != nil {
		return nil, fault(field, err)
	}
	return l, nil
}

// check returns an error for the first entry that is inconsistent, or that contradicts
// another entry. field is the path of the field to correct.
func (l *Lock) check() (field string, err error) {
	if n := slices.Index(l.Files, ""); n >= 0 {
		return fmt.Sprintf("files[%d]", n), errors.New("the name of a file is empty")
	}
	digests := map[string]string{}
	for n, images := range [][]Image{l.Functions, l.BaseImages, l.Packages, l.APIs} {
		list := []string{"functions", "baseImages", "packages", "apis"}[n]
		if len(images) > maxImages {
			return list, fmt.Errorf("%s has more than %d entries", list, maxImages)
		}
		seen := map[key]bool{}
		for n, i := range images {
			at := fmt.Sprintf("%s[%d]", list, n)
			check := i.check
			if list == "apis" {
				check = i.checkAPI
			}
			if field, err := check(); err != nil {
				return at + "." + field, err
			}
			if seen[i.key()] {
				return at, fmt.Errorf("%s is locked twice", strings.TrimSpace(i.key().name+" "+i.Constraint))
			}
			if before, ok := digests[i.Reference]; ok && before != i.Digest && list != "apis" {
				return at + ".digest", fmt.Errorf("%s is locked with two digests", i.Reference)
			}
			seen[i.key()], digests[i.Reference] = true, i.Digest
		}
	}
	return "", nil
}

// check returns an error if the entry is inconsistent. field is the field to correct.
func (i Image) check() (field string, err error) {
	ref, err := remote.ParseReference(i.Reference, "")
	if err != nil || ref.Name() != i.Reference {
		return "reference", fmt.Errorf("%q is not a full reference, REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST", i.Reference)
	}
	_, isDigest := ref.(name.Digest)
	switch {
	case !IsDigest(i.Digest):
		return "digest", fmt.Errorf("%q is not a digest", i.Digest)
	case isDigest && ref.Identifier() != i.Digest:
		return "digest", fmt.Errorf("%s is not the digest of %s", i.Digest, i.Reference)
	case i.Constraint == "":
	case isDigest && i.Constraint != i.Digest, !isDigest && !Allows(i.Constraint, ref.Identifier()):
		return "constraint", fmt.Errorf("the constraint %s does not allow %s", i.Constraint, i.Reference)
	}
	return "", nil
}
