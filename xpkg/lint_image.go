package xpkg

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A linter reads the images of a package, and notes what is wrong.
type linter struct {
	Report

	// left is how many more bytes may be read, not compressed.
	left int64
	// running are the images with a runtime.
	running []PlatformImage
	others  []Rule
	// layers are those that have been read.
	layers map[v1.Hash]plainLayer

	report      progress.Func
	done, total int64
}

// A plainLayer is what a layer is, not compressed.
type plainLayer struct {
	diffID string
	// tar says that it is one.
	tar bool
	// err says why it cannot be read.
	err error
}

func (l *linter) problem(rule, text string, args ...any) {
	l.Problems = append(l.Problems, Problem{Rule: rule, Text: fmt.Sprintf(text, args...)})
}

func (l *linter) refused(rule, text string, args ...any) {
	l.problem(rule, text, args...)
	l.Problems[len(l.Problems)-1].Refused = true
}

// plan adds up how much there is to read.
func (l *linter) plan(images []PlatformImage) error {
	seen := map[v1.Hash]bool{}
	for _, img := range images {
		m, err := img.Image.Manifest()
		if err != nil {
			return fmt.Errorf("reading a manifest: %w", err)
		}
		for _, d := range m.Layers {
			if !seen[d.Digest] {
				seen[d.Digest] = true
				l.total += d.Size
			}
		}
	}
	return nil
}

// image checks the layers of an image, and returns its package.yaml, or nil if
// there is none that could be read.
func (l *linter) image(ctx context.Context, img PlatformImage) ([]byte, error) {
	p, err := oci.PartsOf(img.Image)
	if err != nil {
		return nil, err
	}
	config, err := img.Image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading a config: %w", err)
	}
	sound, err := l.diffIDs(ctx, img, p, config.RootFS.DiffIDs)
	if err != nil {
		return nil, err
	}
	l.marks(img, p.Descriptors, config.Config.Labels)
	has, err := hasRuntime(img.Image)
	if has {
		l.running = append(l.running, img)
	}
	if err != nil || !sound {
		return nil, err
	}
	data, err := PackageYAML(ctx, img.Image)
	if err == nil {
		return data, nil
	}
	if isUnread(ctx, err) {
		return nil, err
	}
	l.refused("package-yaml", "%s: %v", describe(img), err)
	return nil, nil
}

// diffIDs reads all layers of an image, and returns whether they are sound:
// whether each has the digest that the manifest says.
func (l *linter) diffIDs(ctx context.Context, img PlatformImage, p oci.Parts, want []v1.Hash) (sound bool, err error) {
	if len(want) != len(p.Layers) {
		l.problem("diff-id", "%s has %d layers, and its config says %d, so engines could not unpack it", describe(img), len(p.Layers), len(want))
	}
	sound = true
	for i, layer := range p.Layers {
		digest := p.Descriptors[i].Digest
		got, again := l.layers[digest]
		if !again {
			got = l.read(ctx, layer)
			l.layers[digest] = got
		}
		if got.err != nil {
			if isUnread(ctx, got.err) {
				return false, got.err
			}
			sound = false
			l.refused("digest", "%s: layer %d (%s): %v", describe(img), i+1, digest, got.err)
			continue
		}
		if !got.tar {
			l.problem("layer", "%s: layer %d (%s) is not a tar, so engines could not unpack it", describe(img), i+1, digest)
		}
		if i < len(want) && got.diffID != want[i].String() {
			l.problem("diff-id", "%s: layer %d is %s, not compressed, and the config says %s, so engines could not unpack it", describe(img), i+1, got.diffID, want[i])
		}
	}
	return sound, nil
}

// read reads a layer to its end, where its digest is checked.
func (l *linter) read(ctx context.Context, layer v1.Layer) (got plainLayer) {
	rc, err := oci.Plain(ctx, counted{layer, l}, &l.left)
	if err != nil {
		return plainLayer{err: err}
	}
	defer func() { got.err = errors.Join(got.err, rc.Close()) }()
	sum := sha256.New()
	tr := tar.NewReader(io.TeeReader(rc, sum))
	for err == nil {
		_, err = tr.Next()
	}
	// An error of reading comes again below.
	got.tar = errors.Is(err, io.EOF)
	if _, err := io.Copy(sum, rc); err != nil {
		return plainLayer{err: err}
	}
	got.diffID, got.err = fmt.Sprintf("sha256:%x", sum.Sum(nil)), rc.Finish()
	return got
}

// A counted layer tells a linter how much of it was read.
type counted struct {
	v1.Layer
	linter *linter
}

func (c counted) Compressed() (io.ReadCloser, error) {
	rc, err := c.Layer.Compressed()
	return countedReader{rc, c.linter}, err
}

type countedReader struct {
	io.ReadCloser
	linter *linter
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	l := r.linter
	l.done += int64(n)
	l.report.Send(progress.Event{Kind: progress.Bytes, Text: "checking the layers", Done: l.done, Total: l.total})
	return n, err
}

// marks compares what the labels of a config say of layers with what their
// annotations say: the control plane goes by these, and they are what some tools
// lose.
func (l *linter) marks(img PlatformImage, descs []v1.Descriptor, labels map[string]string) {
	var base []string
	for i, d := range descs {
		mark, label := d.Annotations[Annotation], labels[Annotation+":"+d.Digest.String()]
		if mark == BaseMark {
			base = append(base, fmt.Sprint(i+1))
		}
		if label != "" && mark != label {
			l.problem("layer-mark", "%s: layer %d (%s) is labelled %q, and annotated %q: a tool that does not know packages may have copied it", describe(img), i+1, d.Digest, label, mark)
		}
	}
	if len(base) > 1 {
		l.problem("base-layer", "%s has %d base layers (%s): the control plane reads only the first", describe(img), len(base), strings.Join(base, ", "))
	}
}
