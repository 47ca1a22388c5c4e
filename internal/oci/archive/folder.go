package archive

import (
	"context"
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

// A Folder is an OCI image layout that is open. No link is followed that leads out
// of its directory.
type Folder struct {
	layout
	// Listed is what index.json lists. What it lists several times, under several
	// names, is in Listed once.
	Listed []v1.Descriptor

	root *os.Root
}

// Close closes the folder. Its layers cannot be read after it.
func (f *Folder) Close() error { return f.root.Close() }

// OpenFolder opens a directory with an OCI image layout (image-spec,
// image-layout.md). Only its index.json is read. An error names the directory.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", dir, notFolder(dir, fsx.Cause(err)))
	}
	budget := int64(maxMetadata)
	f := &Folder{layout: layout{folder{root}, &budget}, root: root}
	if _, err = f.files.look(layoutFile); errors.Is(err, fs.ErrNotExist) {
		err = hint.Wrap(fmt.Errorf("it is not an OCI image layout: it has no %s", layoutFile), layoutHint)
	} else {
		f.Listed, err = f.index()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", dir, err), root.Close())
	}
	return f, nil
}

// Artifact returns what index.json lists: an image or an index, or where it lists
// several, an index of them all. Only metadata is read. Layers are read from the
// folder when they are opened, and verified then. An error names the directory.
func (f *Folder) Artifact(ctx context.Context) (oci.Artifact, error) {
	top := f.Listed[0]
	if len(f.Listed) > 1 {
		raw, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: f.Listed})
		if err != nil {
			return nil, fmt.Errorf("encoding an index: %w", err)
		}
		top = oci.Embed(raw)
	}
	a, err := f.load(ctx, top)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", f.root.Name(), err)
	}
	return a, nil
}

const layoutHint = "name the directory that contains oci-layout, index.json and blobs"

// notFolder says what is wrong with a path that is a file.
func notFolder(path string, err error) error {
	if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
		return hint.Wrap(errors.New("it is a file and not a directory"), layoutHint)
	}
	return err
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
