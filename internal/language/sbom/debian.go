package sbom

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/oci"
)

// maxFile limits the bytes of a file in an image that Debian reads.
const maxFile = 64 << 20

// Debian returns the packages of Debian and its derivatives that are installed in images,
// from dpkg's status file, or from the folder status.d of distroless images. Images without
// these files have none.
func Debian(ctx context.Context, images []v1.Image) (all []language.Material, err error) {
	found := map[language.Material]bool{}
	left := int64(oci.MaxUnpacked)
	for _, img := range images {
		layers, err := img.Layers()
		if err != nil {
			return nil, fmt.Errorf("reading the layers of the runtime image: %w", err)
		}
		files := map[string]string{} // A later layer replaces the files of an earlier one.
		for _, l := range layers {
			if err := readFiles(ctx, l, &left, files); err != nil {
				return nil, fmt.Errorf("reading the packages in the runtime image: %w", err)
			}
		}
		distribution := distributionOf(files)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if isStatus(name) {
				for _, m := range installed(files[name], distribution) {
					found[m] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b language.Material) int { return strings.Compare(a.PURL, b.PURL) }), nil
}

func isStatus(name string) bool {
	return name == "var/lib/dpkg/status" || strings.HasPrefix(name, "var/lib/dpkg/status.d/") && !strings.HasSuffix(name, ".md5sums")
}

func isRelease(name string) bool { return name == "etc/os-release" || name == "usr/lib/os-release" }

// readFiles adds the files of a layer that Debian needs.
func readFiles(ctx context.Context, l v1.Layer, left *int64, files map[string]string) (err error) {
	in, err := oci.Plain(ctx, l, left)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return oci.ReadTar(in, func(h *tar.Header, content io.Reader) error {
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if h.Typeflag != tar.TypeReg || !isStatus(name) && !isRelease(name) {
			return nil
		}
		if h.Size > maxFile {
			return fmt.Errorf("%q is larger than the limit of %d MiB", name, maxFile>>20)
		}
		text, err := io.ReadAll(content)
		files[name] = string(text)
		return err
	})
}

// distributionOf returns the ID in os-release(5), or "debian".
func distributionOf(files map[string]string) string {
	for _, name := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.Lines(files[name]) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), "ID="); ok {
				return url.PathEscape(strings.Trim(id, `"'`))
			}
		}
	}
	return "debian"
}

// installed returns the installed packages in a status file (deb822(5)).
func installed(text, distribution string) (all []language.Material) {
	fields := map[string]string{}
	add := func() {
		// The files in status.d have no field Status.
		status, name := fields["Status"], fields["Package"]
		if name != "" && (status == "" || strings.HasSuffix(status, " installed")) {
			purl := fmt.Sprintf("pkg:deb/%s/%s@%s?arch=%s", distribution, url.PathEscape(name), url.QueryEscape(fields["Version"]), url.QueryEscape(fields["Architecture"]))
			all = append(all, language.Material{Name: name, Version: fields["Version"], PURL: purl})
		}
		clear(fields)
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxFile)
	for lines.Scan() {
		line := lines.Text()
		if strings.TrimSpace(line) == "" {
			add()
			continue
		}
		if key, value, ok := strings.Cut(line, ":"); ok && line[0] != ' ' && line[0] != '\t' {
			fields[key] = strings.TrimSpace(value)
		}
	}
	add()
	return all
}
