package project_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A pushedManifest is a manifest that the crossplane CLI's project push would write.
type pushedManifest struct {
	media string
	raw   []byte
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// pushCLI reads the file of a project as the crossplane CLI's project push does, and returns
// the manifests that it would write, by reference without the tag. It uses only the standard
// library, except for configs, so that a mistake of this program's packages cannot hide here. It follows these
// steps of the CLI:
//
//   - The image with the tag REPOSITORY:configuration is the Configuration. All others are
//     grouped by repository.
//   - Each image gets Docker's media types, and the layer annotations that the labels of its
//     config name.
//   - Each config is decoded and encoded again, by go-containerregistry.
//   - The images of a function become an OCI index, sorted by digest, even if there is one.
func pushCLI(t *testing.T, path, repository string) (map[string]pushedManifest, string) {
	t.Helper()
	files := readTar(t, path)
	var entries []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	e2e.NoError(t, json.Unmarshal(files["manifest.json"], &entries))
	all := map[string]pushedManifest{}
	children := map[string][]any{}
	packageYAML := ""
	for _, e := range entries {
		if len(e.RepoTags) != 1 || digestOf(files[e.Config]) != e.Config {
			t.Fatalf("an image has the tags %q and the config %s", e.RepoTags, e.Config)
		}
		at := strings.LastIndex(e.RepoTags[0], ":")
		repo, tag := e.RepoTags[0][:at], e.RepoTags[0][at+1:]
		raw, base := manifestOf(t, files, e.Config, e.Layers)
		if repo == repository && tag == "configuration" {
			all[repo] = pushedManifest{"application/vnd.docker.distribution.manifest.v2+json", raw}
			packageYAML = fileIn(t, base, "package.yaml")
			continue
		}
		children[repo] = append(children[repo], descriptorOf(t, raw, files[e.Config]))
	}
	for repo, list := range children {
		slices.SortFunc(list, func(a, b any) int { return cmp.Compare(a.(indexEntry).Digest, b.(indexEntry).Digest) })
		raw := e2e.Must(json.Marshal(struct {
			SchemaVersion int    `json:"schemaVersion"`
			MediaType     string `json:"mediaType"`
			Manifests     []any  `json:"manifests"`
		}{2, "application/vnd.oci.image.index.v1+json", list}))(t)
		all[repo] = pushedManifest{"application/vnd.oci.image.index.v1+json", raw}
	}
	return all, packageYAML
}

// readTar returns the files of a tar, and checks their attributes.
func readTar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data := e2e.Must(os.ReadFile(path))(t)
	files := map[string][]byte{}
	last := ""
	for h, text := range e2e.Tar(t, bytes.NewReader(data)) {
		if h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 || files[h.Name] != nil {
			t.Errorf("%s has mode %o, owner %d:%d and time %s, or occurs twice", h.Name, h.Mode, h.Uid, h.Gid, h.ModTime)
		}
		files[h.Name] = []byte(text)
		last = h.Name
	}
	e2e.Equal(t, "the manifest of docker load is the last file", "manifest.json", last)
	return files
}

type blobEntry struct {
	MediaType   string            `json:"mediaType"`
	Size        int               `json:"size"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type indexEntry struct {
	MediaType string `json:"mediaType"`
	Size      int    `json:"size"`
	Digest    string `json:"digest"`
	Platform  struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	} `json:"platform"`
	ArtifactType string `json:"artifactType"`
}

// manifestOf returns the manifest of an image, and its base layer.
func manifestOf(t *testing.T, files map[string][]byte, config string, layers []string) (raw, base []byte) {
	t.Helper()
	var c struct {
		Config struct{ Labels map[string]string }
	}
	e2e.NoError(t, json.Unmarshal(files[config], &c))
	var known v1.ConfigFile
	e2e.NoError(t, json.Unmarshal(files[config], &known))
	e2e.Equal(t, "the crossplane CLI keeps the bytes of the config", string(e2e.Must(json.Marshal(known))(t)), string(files[config]))
	const dockerConfig = "application/vnd.docker.container.image.v1+json"
	m := struct {
		SchemaVersion int         `json:"schemaVersion"`
		MediaType     string      `json:"mediaType"`
		Config        blobEntry   `json:"config"`
		Layers        []blobEntry `json:"layers"`
	}{2, "application/vnd.docker.distribution.manifest.v2+json", blobEntry{dockerConfig, len(files[config]), config, nil}, nil}
	for _, name := range layers {
		l := blobEntry{"application/vnd.docker.image.rootfs.diff.tar.gzip", len(files[name]), digestOf(files[name]), nil}
		e2e.Equal(t, "the name of a layer is its digest", strings.TrimPrefix(l.Digest, "sha256:")+".tar.gz", name)
		if mark := c.Config.Labels["io.crossplane.xpkg:"+l.Digest]; mark != "" {
			l.Annotations = map[string]string{"io.crossplane.xpkg": mark}
			if mark == "base" {
				base = files[name]
			}
		}
		m.Layers = append(m.Layers, l)
	}
	raw = e2e.Must(json.Marshal(m))(t)
	return raw, base
}

// descriptorOf returns the entry of an image in an index.
func descriptorOf(t *testing.T, raw, config []byte) indexEntry {
	t.Helper()
	e := indexEntry{MediaType: "application/vnd.docker.distribution.manifest.v2+json", Size: len(raw), Digest: digestOf(raw), ArtifactType: "application/vnd.docker.container.image.v1+json"}
	if err := json.Unmarshal(config, &e.Platform); err != nil || e.Platform.OS != "linux" {
		t.Fatalf("the config has the platform %v, %v", e.Platform, err)
	}
	return e
}

// fileIn returns a file of a layer.
func fileIn(t *testing.T, layer []byte, name string) string {
	t.Helper()
	zr := e2e.Must(gzip.NewReader(bytes.NewReader(layer)))(t)
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Name != name {
			continue
		}
		return string(e2e.Must(io.ReadAll(tr))(t))
	}
}

// The digest in dependsOn is the digest of the index that the crossplane CLI would push
// from the file. With another digest, the function would not be installed.
func TestDependsOnHasTheDigestsThatTheCLIPushes(t *testing.T) {
	const repository = "registry.example.org/acme/demo"
	file := built(t, lay(t, files(map[string]string{"functions/second/a.tmpl": "a\n"}), false))
	manifests, text := pushCLI(t, file, repository)
	if len(manifests) != 3 || manifests[repository].raw == nil {
		t.Fatalf("the file has %d packages, want 3", len(manifests))
	}
	for _, function := range []string{"compose", "second"} {
		of := repository + "_" + function
		want := fmt.Sprintf("    package: %s\n    version: %s\n", of, digestOf(manifests[of].raw))
		e2e.Has(t, "the Configuration has the digest that the crossplane CLI pushes", text, want)
	}
}
