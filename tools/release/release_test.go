package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// program is a small program with the commands of xfn that a release needs.
const program = `package main

import "os"

var version, commit string

func main() {
	if os.Args[1] == "completion" {
		println(version, commit)
		os.Stdout.WriteString("complete " + os.Args[2])
		return
	}
	if err := os.WriteFile(os.Args[3]+"/xfn.1", []byte(".TH XFN 1"), 0o644); err != nil {
		panic(err)
	}
}
`

// TestRelease builds a release of a small program twice: the formats of all systems are right, and
// the bytes are the same.
func TestRelease(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/small\n\ngo 1.26\n", "cmd/xfn/main.go": program, "LICENSE": "Apache", "README.md": "# xfn\n",
	} {
		if err := writeFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, root, "init", "-q")
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "first")
	git(t, root, "tag", "v1.2.3")
	host := filepath.Join(t.TempDir(), "xfn.exe")
	if _, err := output(t.Context(), root, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", host, "./cmd/xfn"); err != nil {
		t.Fatal(err)
	}
	var sums [2]string
	var dir string
	for i := range sums {
		dir = t.TempDir()
		args := []string{"-root", root, "-out", dir, "-xfn", host, "-platforms", "linux/" + runtime.GOARCH + ",darwin/arm64,windows/amd64"}
		if err := run(t.Context(), args); err != nil {
			t.Fatal(err)
		}
		sums[i] = read(t, dir, "checksums.txt")
	}
	if sums[0] != sums[1] {
		t.Errorf("the checksums of two releases differ:\n%s\n%s", sums[0], sums[1])
	}
	if n := strings.Count(sums[0], "\n"); n != 8 {
		t.Errorf("checksums.txt has %d lines, want 8: three archives, three SBOMs, two packages:\n%s", n, sums[0])
	}
	want := "xfn LICENSE README.md completions/xfn.bash completions/_xfn completions/xfn.fish man/xfn.1"
	if got := tarNames(t, read(t, dir, "xfn_1.2.3_darwin_arm64.tar.gz")); got != want {
		t.Errorf("the archive has %s, want %s", got, want)
	}
	if got := zipNames(t, read(t, dir, "xfn_1.2.3_windows_amd64.zip")); got != strings.Replace(want, "xfn", "xfn.exe", 1) {
		t.Errorf("the archive of Windows has %s", got)
	}
	checkManifests(t, dir, sums[0])
	var bill struct {
		Packages []struct {
			Name    string
			Version string `json:"versionInfo"`
		}
	}
	if err := json.Unmarshal([]byte(read(t, dir, "xfn_1.2.3_darwin_arm64.spdx.json")), &bill); err != nil || bill.Packages[0].Version != "v1.2.3" || bill.Packages[1].Name != "stdlib" {
		t.Errorf("the SBOM is %+v, %v", bill, err)
	}
}

// checkManifests checks that each manifest has the checksums of the archives that it names.
func checkManifests(t *testing.T, dir, sums string) {
	t.Helper()
	of := map[string]string{}
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		of[name] = sum
	}
	linux := "xfn_1.2.3_linux_" + runtime.GOARCH + ".tar.gz"
	for name, archives := range map[string][]string{
		"xfn.rb": {linux, "xfn_1.2.3_darwin_arm64.tar.gz"}, "scoop.json": {"xfn_1.2.3_windows_amd64.zip"},
		"krew.yaml":                            {linux, "xfn_1.2.3_darwin_arm64.tar.gz", "xfn_1.2.3_windows_amd64.zip"},
		"winget/xfn-dev.xfn.installer.yaml":    {"xfn_1.2.3_windows_amd64.zip"},
		"winget/xfn-dev.xfn.yaml":              nil,
		"winget/xfn-dev.xfn.locale.en-US.yaml": nil,
	} {
		text := read(t, dir, "manifests/"+name)
		for _, a := range archives {
			if !strings.Contains(text, "/releases/download/v1.2.3/"+a) || !strings.Contains(text, of[a]) {
				t.Errorf("%s does not have the address and checksum of %s:\n%s", name, a, text)
			}
		}
		if !strings.Contains(text, "1.2.3") {
			t.Errorf("%s does not have the version:\n%s", name, text)
		}
		checkFields(t, name, text)
	}
}

// fields are patterns of the fields of manifests, by the file and the path. A field that is not
// listed here is an error. The patterns for winget are from the documentation of the manifest
// version 1.6.0, and the patterns for Scoop from its wiki page "App Manifests".
func fields() map[string]map[string]string {
	const (
		identifier = `[^.\s\\/:*?"<>|]{1,32}(\.[^.\s\\/:*?"<>|]{1,32}){1,7}`
		version    = `[^\\/:*?"<>|]{1,128}`
		manifest   = `\d+\.\d+\.\d+`
		address    = `https://\S+`
		sum        = `[0-9a-fA-F]{64}`
	)
	common := func(kind string, more map[string]string) map[string]string {
		maps.Copy(more, map[string]string{"PackageIdentifier": identifier, "PackageVersion": version, "ManifestType": kind, "ManifestVersion": manifest})
		return more
	}
	return map[string]map[string]string{
		"winget/xfn-dev.xfn.yaml": common("version", map[string]string{"DefaultLocale": "en-US"}),
		"winget/xfn-dev.xfn.locale.en-US.yaml": common("defaultLocale", map[string]string{
			"PackageLocale": "en-US", "Publisher": ".{2,256}", "PackageName": ".{2,256}", "PackageUrl": address, "License": ".{3,512}", "ShortDescription": ".{3,256}",
		}),
		"winget/xfn-dev.xfn.installer.yaml": common("installer", map[string]string{
			"InstallerType": "zip", "NestedInstallerType": "portable", "NestedInstallerFiles.RelativeFilePath": ".{1,512}", "NestedInstallerFiles.PortableCommandAlias": ".{1,40}",
			"ReleaseDate": `\d{4}-\d\d-\d\d.*`, "Installers.Architecture": "x64", "Installers.InstallerUrl": address, "Installers.InstallerSha256": sum,
		}),
		"scoop.json": {
			"version": `[\w.+-]+`, "description": ".+", "homepage": address, "license": "Apache-2.0", "bin": ".+",
			"architecture.64bit.url": address, "architecture.64bit.hash": sum,
		},
	}
}

// checkFields checks that a manifest has exactly the known fields, with valid values.
func checkFields(t *testing.T, name, text string) {
	t.Helper()
	want := fields()[name]
	if want == nil {
		return
	}
	var object map[string]any
	if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
		t.Errorf("%s is not JSON:\n%s", name, text)
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	got := map[string]string{}
	flatten(object, "", got)
	for path, pattern := range want {
		if !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got[path]) {
			t.Errorf("%s: the field %s is %q, want %s", name, path, got[path], pattern)
		}
	}
	for path := range got {
		if want[path] == "" {
			t.Errorf("%s has the unknown field %s", name, path)
		}
	}
}

// flatten adds the values of a document to out by their paths. Elements of lists have the path
// of the list.
func flatten(value any, path string, out map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			flatten(v, strings.TrimPrefix(path+"."+key, "."), out)
		}
	case []any:
		for _, v := range value {
			flatten(v, path, out)
		}
	default:
		out[path] = fmt.Sprint(value)
	}
}

func TestVersionOf(t *testing.T) {
	for reason, tc := range map[string]struct{ described, exact, want string }{
		"a tag of the commit is the version":           {"v1.2.3", "v1.2.3", "1.2.3"},
		"a prerelease is a release":                    {"v1.2.3-rc.1", "v1.2.3-rc.1", "1.2.3-rc.1"},
		"changed files make a snapshot":                {"v1.2.3-dirty", "v1.2.3", "0.0.0-snapshot.1.2.3-dirty"},
		"a commit after a tag is a snapshot":           {"v1.2.3-4-gabcdef0", "", "0.0.0-snapshot.1.2.3-4-gabcdef0"},
		"a commit without a tag is a snapshot":         {"abcdef0", "", "0.0.0-snapshot.abcdef0"},
		"a tag that is not a version makes a snapshot": {"nightly", "nightly", "0.0.0-snapshot.nightly"},
	} {
		if got := versionOf(tc.described, tc.exact); got != tc.want {
			t.Errorf("%s: versionOf(%q, %q) = %q, want %q", reason, tc.described, tc.exact, got, tc.want)
		}
	}
}

func TestCheckFormat(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range allPlatforms {
		goos, arch, _ := strings.Cut(platform, "/")
		if platform != runtime.GOOS+"/"+runtime.GOARCH && checkFormat(self, goos, arch) == nil {
			t.Errorf("a program for %s/%s passes as one for %s", runtime.GOOS, runtime.GOARCH, platform)
		}
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func tarNames(t *testing.T, data string) string {
	t.Helper()
	zr, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zr); ; {
		h, err := r.Next()
		if err == io.EOF {
			return strings.Join(names, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func zipNames(t *testing.T, data string) string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader([]byte(data)), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}
