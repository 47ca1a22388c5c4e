package sbom_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

func layer(t *testing.T, files map[string]string) v1.Layer {
	t.Helper()
	raw := map[string][]byte{}
	for name, text := range files {
		raw[name] = []byte(text)
	}
	return e2e.Must(remotetest.Layer(raw))(t)
}

func TestDebian(t *testing.T) {
	const status = "Package: zlib1g\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:1.3.1-1+b1\nDescription: compression\n library\n\n" +
		"Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n"
	distroless := map[string]string{"var/lib/dpkg/status.d/a": "Package: a\nVersion: 1\n", "var/lib/dpkg/status.d/b": "Package: b\nVersion: 1\n"}
	cases := map[string]struct {
		reason string
		layers []map[string]string
		want   []string
	}{
		"None":     {"an image without dpkg has no packages", []map[string]string{{"bin/x": "x"}}, nil},
		"Status":   {"only installed packages count", []map[string]string{{"var/lib/dpkg/status": status, "etc/os-release": "ID=ubuntu\n"}}, []string{"pkg:deb/ubuntu/zlib1g@1%3A1.3.1-1%2Bb1?arch=amd64"}},
		"Later":    {"a later layer replaces the status file", []map[string]string{{"var/lib/dpkg/status": status}, {"./var/lib/dpkg/status": "Package: a\nStatus: install ok installed\nVersion: 2\nArchitecture: all\n"}}, []string{"pkg:deb/debian/a@2?arch=all"}},
		"Removed":  {"a later layer removes the files of a package", []map[string]string{distroless, {"var/lib/dpkg/status.d/.wh.a": ""}}, []string{"pkg:deb/debian/b@1?arch="}},
		"Opaque":   {"a later layer replaces a directory", []map[string]string{distroless, {"var/lib/dpkg/status.d/.wh..wh..opq": "", "var/lib/dpkg/status.d/c": "Package: c\nVersion: 1\n"}}, []string{"pkg:deb/debian/c@1?arch="}},
		"Parent":   {"a later layer removes a directory above", []map[string]string{distroless, {"var/.wh.lib": ""}}, nil},
		"Root":     {"a later layer removes everything", []map[string]string{distroless, {".wh..wh..opq": ""}}, nil},
		"Internal": {"a name that is internal to AUFS removes nothing", []map[string]string{distroless, {"var/lib/.wh..wh.dpkg": ""}}, []string{"pkg:deb/debian/a@1?arch=", "pkg:deb/debian/b@1?arch="}},
		"Folder":   {"distroless images have a file for each package", []map[string]string{{"var/lib/dpkg/status.d/a": "Package: a\nVersion: 2\nArchitecture: all\n", "var/lib/dpkg/status.d/a.md5sums": "x: y"}}, []string{"pkg:deb/debian/a@2?arch=all"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var layers []v1.Layer
			for _, files := range tc.layers {
				layers = append(layers, layer(t, files))
			}
			img := remotetest.Image(t, v1.Config{}, layers...)
			all := e2e.Must(sbom.Debian(t.Context(), []v1.Image{img, img}))(t)
			var got []string
			for _, m := range all {
				got = append(got, m.PURL)
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// The files of all layers are bounded together.
func TestDebianLimit(t *testing.T) {
	large := strings.Repeat(" ", 33<<20)
	img := remotetest.Image(t, v1.Config{}, layer(t, map[string]string{"var/lib/dpkg/status.d/a": large}), layer(t, map[string]string{"var/lib/dpkg/status.d/b": large}))
	const want = `the files of packages, such as "var/lib/dpkg/status.d/b", are larger than the limit of 64 MiB`
	e2e.ErrorHas(t, "the files of all layers together are limited", e2e.Err(sbom.Debian(t.Context(), []v1.Image{img})), want)
}

// A document has a package for each material with its checksum, and the same bytes for the
// same materials.
func TestWrite(t *testing.T) {
	s := sbom.Subject{Name: "conf", Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}, Tool: "xfn-v1", Created: time.Unix(0, 0)}
	materials := []language.Material{
		{Name: "a", Version: "1", PURL: "pkg:pypi/a@1", Digest: "sha256:" + strings.Repeat("cd", 32)},
		{Name: "b", Version: "v2", PURL: "pkg:golang/b@v2", Digest: "h1:x="},
		{Name: "c", Version: "3", PURL: "pkg:npm/c@3", Digest: "sha512-AAA="},
		{Name: "base image"},
	}
	text := e2e.Must(sbom.Write(s, materials))(t)
	again := e2e.Must(sbom.Write(s, materials))(t)
	e2e.Equal(t, "a document does not depend on map order", string(text), string(again))
	var got struct {
		SPDXVersion       string
		DocumentNamespace string
		CreationInfo      struct{ Created string }
		Packages          []struct {
			Name, Comment string
			Checksums     []struct{ Algorithm, ChecksumValue string }
		}
		Relationships []struct{ RelationshipType string }
	}
	e2e.NoError(t, json.Unmarshal(text, &got))
	if got.SPDXVersion != "SPDX-2.3" || !strings.HasPrefix(got.DocumentNamespace, "https://spdx.org/spdxdocs/conf-") || got.CreationInfo.Created != "1970-01-01T00:00:00Z" {
		t.Errorf("the document begins %+v", got)
	}
	var lines []string
	for _, p := range got.Packages {
		line := p.Name + " " + p.Comment
		for _, c := range p.Checksums {
			line += c.Algorithm + " " + c.ChecksumValue[:4]
		}
		lines = append(lines, line)
	}
	want := []string{"conf SHA256 abab", "a SHA256 cdcd", "b digest in the lock file: h1:x=", "c SHA512 0000", "base image "}
	if diff := cmp.Diff(want, lines); diff != "" || len(got.Relationships) != 5 {
		t.Errorf("%d relationships, -want +got:\n%s", len(got.Relationships), diff)
	}
	other, err := sbom.Write(s, materials[1:])
	if err != nil || strings.Contains(string(other), got.DocumentNamespace) {
		t.Errorf("another document has the same namespace, error %v", err)
	}
}
