package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// projectCorpus has projects, and the results of the crossplane CLI's project build and push.
const projectCorpus = "../../testdata/golden/project"

// recorded is the registry of the recording.
const recorded = "127.0.0.1:5061"

// TestProjectCorpus builds and pushes each case in separate processes. The exit code, the
// files, the packages and the repositories must be the same as with the crossplane CLI.
// If differences.yaml lists the case, the exit code must differ.
func TestProjectCorpus(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating links requires a privilege on Windows")
	}
	t.Parallel()
	known := projectDifferences(t)
	cases := e2e.Glob(t, filepath.Join(projectCorpus, "*", "args"))
	address := remotetest.Serve(t, remotetest.Embedded(t))
	pushBases(t, address)
	pushDependencies(t, address)
	ports := strings.NewReplacer(recorded, address, "127.0.0.1:5063", serveCRD(t), "{git}", gitRepository(t))
	for _, args := range cases {
		dir := filepath.Dir(args)
		listed := known[filepath.Base(dir)]
		delete(known, filepath.Base(dir))
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			newProjectCase(t, dir, address, ports).compare(t, listed)
		})
	}
	for name := range known {
		t.Errorf("differences.yaml names %q, which is not a case", name)
	}
}

// projectDifferences returns the cases of the list "project" in differences.yaml.
func projectDifferences(t *testing.T) map[string]bool {
	t.Helper()
	var listed struct {
		Project []struct{ Case, Differs string }
	}
	e2e.NoError(t, yaml.Unmarshal([]byte(e2e.ReadFile(t, "../../testdata/golden/differences.yaml")), &listed))
	known := map[string]bool{}
	for _, d := range listed.Project {
		if known[d.Case] || d.Differs == "" {
			t.Errorf("differences.yaml: %s: want one entry with a description of the difference", d.Case)
		}
		known[d.Case] = true
	}
	return known
}

// projectTarballs are the runtime images that cases need, by case.
var projectTarballs = map[string][]string{
	"fn-tarball":         {"images/compose-amd64.tar", "images/compose-arm64.tar.gz"},
	"fn-tarball-missing": {"images/compose-amd64.tar"},
	"fn-listed":          {"img-amd64.tar"},
	"build-dependencies": {"rt-amd64.tar"},
}

// projectLinks are the links of the cases, which the repository has as files with the target.
var projectLinks = map[string][]string{"fn-kcl": {"functions/compose/model", "functions/compose/dangling"}}

// A projectCase is a case in its own directory, with its own part of the registry.
type projectCase struct {
	dir, work, address string
	ports              *strings.Replacer
}

func newProjectCase(t *testing.T, dir, address string, ports *strings.Replacer) *projectCase {
	t.Helper()
	c := &projectCase{dir: dir, work: filepath.Join(t.TempDir(), "case"), address: address, ports: ports}
	e2e.NoError(t, os.Mkdir(c.work, 0o755))
	// A case that creates a project has no input.
	if err := os.CopyFS(c.work, os.DirFS(filepath.Join(dir, "in"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	replaceAll(t, c.work, ports)
	for _, link := range projectLinks[filepath.Base(dir)] {
		link = filepath.Join(c.work, link)
		target := strings.TrimSpace(e2e.ReadFile(t, link))
		e2e.NoError(t, errors.Join(os.Remove(link), os.Symlink(target, link)))
	}
	for _, file := range projectTarballs[filepath.Base(dir)] {
		file, zipped := strings.CutSuffix(file, ".gz")
		path := filepath.Join(c.work, file)
		arch := strings.TrimSuffix(file[strings.LastIndex(file, "-")+1:], ".tar")
		e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		e2e.NoError(t, archive.WriteTagged(t.Context(), path, []archive.Tagged{{Tag: "runtime:latest", Image: baseImage(t, arch, false)}}, nil))
		if zipped {
			zipFile(t, path)
		}
	}
	for line := range strings.Lines(optional(t, filepath.Join(dir, "pre.txt"))) {
		args := strings.Fields(line)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		if args[0] == "crossplane" {
			cmd = e2e.Command(t, args[1:]...)
		}
		if code, _, stderr := c.run(t, cmd); code != 0 {
			t.Fatalf("%s: exit code %d: %s", strings.TrimSpace(line), code, stderr)
		}
	}
	return c
}

// replaceAll replaces text in all files of a directory.
func replaceAll(t *testing.T, dir string, r *strings.Replacer) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.WriteFile(path, []byte(r.Replace(e2e.ReadFile(t, path))), 0o644)
	})
	e2e.NoError(t, err)
}

// zipFile compresses a file, and adds .gz to its name.
func zipFile(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, e2e.ReadFile(t, path))
	e2e.NoError(t, errors.Join(err, w.Close(), os.WriteFile(path+".gz", b.Bytes(), 0o600), os.Remove(path)))
}

// run runs a command in the directory of the case.
func (c *projectCase) run(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	home := filepath.Join(filepath.Dir(c.work), "home")
	cmd.Dir = c.work
	cmd.Env = append(os.Environ(), "XFN_CACHE_DIR="+filepath.Join(home, "xfn"), "DOCKER_CONFIG="+home)
	return runCommand(t, cmd)
}

// compare runs the command of the case and compares the results.
func (c *projectCase) compare(t *testing.T, listed bool) {
	t.Helper()
	before := tree(t, c.work)
	args := strings.Split(strings.TrimSuffix(c.golden(t, "args"), "\n"), "\n")
	code, stdout, stderr := c.run(t, e2e.Command(t, args...))
	t.Log(stderr)
	want := strings.TrimSpace(c.golden(t, "exit"))
	if same := want == fmt.Sprint(code); same == listed {
		t.Fatalf("%sexit code %d, the crossplane CLI's is %s, and in differences.yaml: %v", c.golden(t, "about.txt"), code, want, listed)
	}
	if listed || code != 0 {
		return
	}
	unix := regexp.MustCompile(`v0\.0\.0-\d+`)
	e2e.Equal(t, "stdout is that of the crossplane CLI, except tags", unix.ReplaceAllString(strings.ReplaceAll(c.golden(t, "stdout"), "{unix}", "0"), "TAG"), unix.ReplaceAllString(stdout, "TAG"))
	if _, err := os.Stat(filepath.Join(c.dir, "created.json")); err == nil {
		c.compareFiles(t, before)
	}
	c.compareRepositories(t)
}

// golden returns a file of the case, with the address of the registry.
func (c *projectCase) golden(t *testing.T, name string) string {
	t.Helper()
	return c.ports.Replace(e2e.ReadFile(t, filepath.Join(c.dir, name)))
}

// compareFiles compares the new files and the packages in them.
func (c *projectCase) compareFiles(t *testing.T, before map[string]string) {
	t.Helper()
	var created map[string]any
	e2e.NoError(t, json.Unmarshal([]byte(c.golden(t, "created.json")), &created))
	if c.generates() {
		c.compareGenerated(t, before, created)
		return
	}
	var got []string
	for path := range tree(t, c.work) {
		rel := e2e.Must(filepath.Rel(c.work, path))(t)
		if before[path] == "" {
			got = append(got, filepath.ToSlash(rel))
		}
	}
	slices.Sort(got)
	want := slices.Sorted(maps.Keys(created))
	e2e.Equal(t, "the command creates the files that the crossplane CLI creates", want, got)
	for _, path := range got {
		switch filepath.Ext(path) {
		case ".xpkg":
			c.compareArchive(t, filepath.Join(c.work, path))
		case ".json":
			c.compareFile(t, filepath.Join(c.work, path), path, created[path].(map[string]any))
		}
	}
}

// A goldenImage is an image in outputs.json.
type goldenImage struct {
	Config map[string]any
	Layers []struct {
		Entries []layerEntry
	}
}

type layerEntry struct {
	Name, Type, Mode string
	UID, GID         int
}

// compareArchive compares the images in the file of a project.
func (c *projectCase) compareArchive(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.dir, "outputs.json")); err != nil {
		return
	}
	var want struct{ Images map[string]goldenImage }
	e2e.NoError(t, json.Unmarshal([]byte(c.golden(t, "outputs.json")), &want))
	file := e2e.Must(archive.OpenTagged(t.Context(), path))(t)
	defer file.Close()
	var tags []string
	for _, img := range file.Images {
		tags = append(tags, img.Tag)
		golden, ok := want.Images[img.Tag]
		if !ok {
			continue
		}
		c.compareTexts(t, img)
		e2e.Equal(t, img.Tag+" is the image of the crossplane CLI", comparable(golden), comparable(describeImage(t, img.Image)))
	}
	e2e.Equal(t, "the file has the tags of the crossplane CLI in sorted order", slices.Sorted(maps.Keys(want.Images)), tags)
}

var anyDigest = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// compareTexts compares the package.yaml and the examples of an image, except digests.
func (c *projectCase) compareTexts(t *testing.T, img archive.Tagged) {
	t.Helper()
	base := filepath.Join(c.dir, strings.NewReplacer("/", "_", ":", "_").Replace(strings.ReplaceAll(img.Tag, c.address, recorded)))
	annotated := e2e.Must(xpkg.AnnotateLayers(img.Image))(t)
	for suffix, read := range map[string]func() ([]byte, error){
		".package.yaml":  func() ([]byte, error) { return xpkg.PackageYAML(t.Context(), annotated) },
		".examples.yaml": func() ([]byte, error) { return xpkg.Examples(t.Context(), annotated) },
	} {
		if _, err := os.Stat(base + suffix); err != nil {
			continue
		}
		got := e2e.Must(read())(t)
		want := c.ports.Replace(e2e.ReadFile(t, base+suffix))
		e2e.Equal(t, fmt.Sprintf("%s%s has the text of the crossplane CLI", img.Tag, suffix), anyDigest.ReplaceAllString(want, "DIGEST"), anyDigest.ReplaceAllString(string(got), "DIGEST"))
	}
}

// comparable returns an image without digests and without the order of the entries of /src,
// which in the crossplane CLI is the order of a file system.
func comparable(g goldenImage) goldenImage {
	delete(g.Config["rootfs"].(map[string]any), "diff_ids")
	settings := g.Config["config"].(map[string]any)
	labels := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(settings["Labels"].(map[string]any))) {
		value := settings["Labels"].(map[string]any)[key]
		if strings.HasPrefix(key, xpkg.Annotation+":") {
			key = fmt.Sprintf("%s of %v", xpkg.Annotation, value)
			n, _ := labels[key].(int)
			value = n + 1
		}
		labels[key] = value
	}
	settings["Labels"] = labels
	if env, ok := settings["Env"].([]any); ok {
		slices.SortFunc(env, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	for _, l := range g.Layers {
		slices.SortFunc(l.Entries, func(a, b layerEntry) int { return strings.Compare(a.Name, b.Name) })
	}
	return g
}

// describeImage returns an image as outputs.json describes it.
func describeImage(t *testing.T, img v1.Image) (g goldenImage) {
	t.Helper()
	raw, err := img.RawConfigFile()
	if err == nil {
		err = json.Unmarshal(raw, &g.Config)
	}
	layers, layersErr := img.Layers()
	e2e.NoError(t, errors.Join(err, layersErr))
	for _, l := range layers {
		var entries []layerEntry
		for h := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
			entries = append(entries, layerEntry{strings.TrimSuffix(h.Name, "/"), string(h.Typeflag), fmt.Sprintf("%04o", h.Mode), h.Uid, h.Gid})
			if h.ModTime.Unix() != 0 {
				t.Errorf("%s has the time %s, want the Unix epoch", h.Name, h.ModTime)
			}
		}
		g.Layers = append(g.Layers, struct{ Entries []layerEntry }{entries})
	}
	return g
}
