package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Write writes a as one tar file that is both an OCI image layout and a Docker archive. The
// layers come first, then the metadata of both formats. Each blob is written once. The
// layout's index.json lists only a. The Docker archive lists one image: the image for
// linux/amd64, or otherwise the first image.
//
// The bytes depend only on a, so the file of a pulled package is identical to the file that
// was pushed. Layers are in the order of the manifests, except that layers with the
// annotation Mark are last. Blobs are verified while they are written. Progress events have
// the given text and count the bytes of the file.
func Write(ctx context.Context, w io.Writer, a oci.Artifact, text string, report progress.Func) error {
	files, err := filesOf(ctx, a)
	if err != nil {
		return err
	}
	return newOutput(w, text, report).files(ctx, files)
}

// filesOf returns the files of an archive of a, in the order of Write.
func filesOf(ctx context.Context, a oci.Artifact) ([]source, error) {
	tree, top, err := oci.TreeOf(a)
	if err != nil {
		return nil, err
	}
	p := &plan{tree: tree, seen: map[v1.Hash]bool{}}
	if err := (oci.Walk{Read: tree.Read, Before: p.add}).Run(ctx, top); err != nil {
		return nil, err
	}
	head := []source{memory(layoutFile, []byte(`{"imageLayoutVersion":"1.0.0"}`)), memory(indexFile, oci.EncodeIndex(nil, top))}
	if p.docker != nil {
		raw, _ := json.Marshal(p.docker) // Strings have no errors.
		head = append(head, memory(manifestFile, raw))
	}
	return slices.Concat(p.layers, p.marked, head, p.metadata), nil
}

type source struct {
	name string
	content
}

// Mark is the key of the annotation by which Crossplane finds the layers of a package.
const Mark = "io.crossplane.xpkg"

func memory(name string, data []byte) source {
	return source{name, section(bytes.NewReader(data), 0, int64(len(data)))}
}

// A plan lists the files of an archive, in the order of the manifests.
type plan struct {
	layers, marked, metadata []source

	tree oci.Tree
	seen map[v1.Hash]bool
	// docker has the image of the Docker archive, or is nil. isUsual is true if it is for linux/amd64.
	docker  []dockerImage
	isUsual bool
}

// add adds a manifest to the plan. For an image, it also adds the config and layers.
func (p *plan) add(m *oci.Manifest) error {
	p.addMetadata(m.Digest, m.Raw)
	if m.IsIndex {
		return nil
	}
	img, err := p.tree.Image(m)
	if err != nil {
		return err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return fmt.Errorf("reading a config: %w", err)
	}
	p.addMetadata(m.Config.Digest, config)
	if m.IsImage() {
		if err := p.addDocker(img, m); err != nil {
			return err
		}
	}
	for _, desc := range m.Layers {
		if p.seen[desc.Digest] {
			continue
		}
		p.seen[desc.Digest] = true
		l, err := img.LayerByDigest(desc.Digest)
		if err != nil {
			return fmt.Errorf("finding layer %s: %w", desc.Digest, err)
		}
		open := func() (io.ReadCloser, error) { return openLayer(l, desc) }
		f := source{blobPath(desc.Digest), content{size: desc.Size, open: open}}
		if desc.Annotations[Mark] == "" {
			p.layers = append(p.layers, f)
		} else {
			p.marked = append(p.marked, f)
		}
	}
	return nil
}

func (p *plan) addMetadata(digest v1.Hash, data []byte) {
	if !p.seen[digest] {
		p.seen[digest] = true
		p.metadata = append(p.metadata, memory(blobPath(digest), data))
	}
}

func openLayer(l v1.Layer, desc v1.Descriptor) (io.ReadCloser, error) {
	rc, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	checked, err := oci.Verify(rc, desc.Digest, desc.Size)
	if err != nil {
		return nil, errors.Join(err, rc.Close())
	}
	return checked, nil
}

// addDocker adds an image to the Docker archive, if it is the first one, or the first one for
// linux/amd64.
func (p *plan) addDocker(img v1.Image, m *oci.Manifest) error {
	c, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("reading a config: %w", err)
	}
	isUsual := c.OS == "linux" && c.Architecture == "amd64"
	if p.docker != nil && (p.isUsual || !isUsual) {
		return nil
	}
	entry := dockerImage{Config: blobPath(m.Config.Digest), Layers: []string{}}
	for _, l := range m.Layers {
		entry.Layers = append(entry.Layers, blobPath(l.Digest))
	}
	p.docker, p.isUsual = []dockerImage{entry}, isUsual
	return nil
}

type output struct {
	tar         *tar.Writer
	text        string
	report      progress.Func
	done, total int64
}

func newOutput(w io.Writer, text string, report progress.Func) *output {
	return &output{tar: tar.NewWriter(w), text: text, report: report}
}

func (o *output) files(ctx context.Context, all []source) error {
	for _, f := range all {
		o.total += f.size
	}
	for _, f := range all {
		if err := o.write(ctx, f); err != nil {
			return fmt.Errorf("writing %s: %w", f.name, err)
		}
	}
	if err := o.tar.Close(); err != nil {
		return fmt.Errorf("ending the tar: %w", err)
	}
	return nil
}

func (o *output) write(ctx context.Context, f source) (err error) {
	if err := o.tar.WriteHeader(header(f.name, f.size)); err != nil {
		return err
	}
	rc, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rc.Close()) }()
	_, err = oci.Copy(ctx, o, rc)
	return err
}

// header returns a USTAR header, or a PAX header for 8 GiB or more.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: FileMode}
}

// Write writes to the tar's current entry.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.tar.Write(p)
	o.done += int64(n)
	o.report.Send(progress.Event{Kind: progress.Bytes, Text: o.text, Done: o.done, Total: o.total})
	return n, err
}
