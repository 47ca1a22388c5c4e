package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

// A Folder is an OCI image layout that is open.
type Folder struct {
	// Artifact is what its index.json lists: an image or an index, or where it
	// lists several, an index of them all. Layers are read from the folder when
	// they are asked for, and checked against their digests as they are read.
	Artifact oci.Artifact

	root *os.Root
}

// Close closes the folder. The artifact's layers cannot be read after it.
func (f *Folder) Close() error { return f.root.Close() }

// OpenFolder opens a directory with an OCI image layout (image-spec,
// image-layout.md). Only its metadata is read, and no link is followed that
// leads out of it. What index.json lists several times, under several names,
// counts once. An error names the directory.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", dir, notFolder(dir, fsx.Cause(err)))
	}
	budget := int64(maxMetadata)
	a, err := layout{folder{root}, &budget}.all()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", dir, err), root.Close())
	}
	return &Folder{a, root}, nil
}

const layoutHint = "name the directory that holds oci-layout, index.json and blobs"

// notFolder says what is wrong with a path that is a file.
func notFolder(path string, err error) error {
	if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
		return hint.Wrap(errors.New("it is a file, and no directory"), layoutHint)
	}
	return err
}

// all returns what index.json lists: an artifact, or an index of several.
func (l layout) all() (oci.Artifact, error) {
	if _, err := l.files.look(layoutFile); errors.Is(err, fs.ErrNotExist) {
		return nil, hint.Wrap(fmt.Errorf("it is no OCI image layout: it has no %s", layoutFile), layoutHint)
	}
	artifacts, err := l.index()
	if err != nil {
		return nil, err
	}
	if len(artifacts) == 1 {
		return l.artifact(artifacts[0], 0)
	}
	children := make([]oci.Artifact, 0, len(artifacts))
	for _, d := range artifacts {
		c, err := l.artifact(d, 1)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	raw, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: artifacts})
	if err != nil {
		return nil, fmt.Errorf("encoding an index: %w", err)
	}
	return oci.Index(raw, children...)
}

// A folder has files as they lie in a directory.
type folder struct{ root *os.Root }

// look implements files.
func (f folder) look(name string) (content, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return content{}, fsx.Cause(err)
	}
	if !info.Mode().IsRegular() {
		return content{}, errors.New("it is not a regular file")
	}
	return content{size: info.Size(), open: func() (io.ReadCloser, error) {
		file, err := f.root.Open(name)
		if err != nil {
			return nil, fsx.Cause(err)
		}
		return file, nil
	}}, nil
}
