package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A Tagged is an image of a Docker archive and its tag there.
type Tagged struct {
	Tag   string
	Image v1.Image
}

// A TaggedFile is an open Docker archive of any number of images.
type TaggedFile struct {
	Images []Tagged

	file *os.File
}

// Close closes the file. The images' layers cannot be read afterwards.
func (f *TaggedFile) Close() error { return f.file.Close() }

// layerSuffix is the suffix of the layers that WriteTagged and go-containerregistry write.
// Before it are the digits of the layer's digest.
const layerSuffix = ".tar.gz"

// ErrTags is the error of OpenTagged for an image that does not have one tag.
var ErrTags = errors.New("expected one")

// OpenTagged opens a Docker archive whose images have one tag each, and reads its metadata.
// A layer whose name has a digest is verified when it is read. Errors name the file.
func OpenTagged(ctx context.Context, path string) (*TaggedFile, error) {
	f := &TaggedFile{}
	var err error
	f.file, err = openTar(ctx, path, func(t *tarball) (err error) {
		f.Images, err = t.tagged(ctx)
		return err
	})
	return f, err
}

func (t *tarball) tagged(ctx context.Context) ([]Tagged, error) {
	for name, e := range t.entries {
		digits, ok := strings.CutSuffix(name, layerSuffix)
		if digest, err := v1.NewHash("sha256:" + digits); ok && err == nil {
			e.digest = digest
			t.entries[name] = e
		}
	}
	entries, err := t.dockerImages()
	if err != nil {
		return nil, err
	}
	var all []Tagged
	for i, e := range entries {
		if len(e.RepoTags) != 1 {
			return nil, fmt.Errorf("%s: image %d has %d tags, %w", manifestFile, i+1, len(e.RepoTags), ErrTags)
		}
		img, err := t.dockerImage(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("image %q: %w", e.RepoTags[0], err)
		}
		all = append(all, Tagged{e.RepoTags[0], img})
	}
	return all, nil
}

// WriteTagged writes images to a Docker archive at path, sorted by their tags. The file has
// the form of the files that the crossplane CLI writes for projects: for each image its config
// and layers, each layer once, then manifest.json. It is complete or absent. The layers of the
// images must be compressed with gzip.
func WriteTagged(ctx context.Context, path string, images []Tagged, report progress.Func) error {
	files, err := taggedFiles(images)
	if err == nil {
		err = fsx.Write(path, FileMode, func(w io.Writer) error {
			return newOutput(w, progressText(path), report).files(ctx, files)
		})
	}
	return explainWrite(path, err)
}

func taggedFiles(images []Tagged) ([]source, error) {
	images = slices.Clone(images)
	slices.SortFunc(images, func(a, b Tagged) int { return strings.Compare(a.Tag, b.Tag) })
	entries := make([]dockerImage, len(images))
	var files []source
	seen := map[string]bool{}
	add := func(f source) {
		if !seen[f.name] {
			seen[f.name] = true
			files = append(files, f)
		}
	}
	for i, t := range images {
		p, err := oci.PartsOf(t.Image)
		if err != nil {
			return nil, err
		}
		config, err := t.Image.ConfigName()
		if err != nil {
			return nil, fmt.Errorf("finding the digest of a config: %w", err)
		}
		add(memory(config.String(), p.Config))
		entries[i] = dockerImage{Config: config.String(), RepoTags: []string{t.Tag}}
		for n, d := range p.Descriptors {
			name := d.Digest.Hex + layerSuffix
			add(source{name, content{size: d.Size, open: func() (io.ReadCloser, error) { return openLayer(p.Layers[n], d) }}})
			entries[i].Layers = append(entries[i].Layers, name)
		}
	}
	raw, _ := json.Marshal(entries) // Strings have no errors.
	return append(files, memory(manifestFile, raw)), nil
}
