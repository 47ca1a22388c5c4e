package sbom

import (
	"archive/tar"
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

// maxFiles limits the bytes of the files and names that Debian reads from all images.
const maxFiles = 64 << 20

// Debian returns the packages of Debian and its derivatives that are installed in images,
// from dpkg's status file, or from the folder status.d of distroless images. Images without
// these files have no packages.
func Debian(ctx context.Context, images []v1.Image) (all []language.Material, err error) {
	found := map[language.Material]bool{}
	left, memory := int64(oci.MaxUnpacked), int64(maxFiles)
	for _, img := range images {
		layers, err := img.Layers()
		if err != nil {
			return nil, fmt.Errorf("reading the layers of the runtime image: %w", err)
		}
		files := map[string]string{}
		for _, l := range layers {
			c, err := readChanges(ctx, l, &left, &memory)
			if err != nil {
				return nil, fmt.Errorf("reading the packages in the runtime image: %w", err)
			}
			maps.DeleteFunc(files, func(name, _ string) bool { return c.hides(name) })
			maps.Copy(files, c.files)
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

// releases are the files of os-release(5), the first one first.
var releases = []string{"etc/os-release", "usr/lib/os-release"}

// changes are what a layer changes in the files that Debian needs.
type changes struct {
	files map[string]string
	// hidden are the names that whiteouts remove from the layers below. A name with a slash
	// at the end is a directory in which they remove all files.
	hidden map[string]bool
}

// readChanges reads a layer. It subtracts what it keeps from memory, in bytes.
func readChanges(ctx context.Context, l v1.Layer, left, memory *int64) (c changes, err error) {
	c = changes{map[string]string{}, map[string]bool{}}
	in, err := oci.Plain(ctx, l, left)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return c, oci.ReadTar(in, func(h *tar.Header, content io.Reader) error {
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		dir, base := path.Split(name)
		hidden, whiteout := strings.CutPrefix(base, oci.Whiteout)
		needed := h.Typeflag == tar.TypeReg && (isStatus(name) || slices.Contains(releases, name))
		if !whiteout && !needed {
			return nil
		}
		if *memory -= int64(len(name)) + h.Size; *memory < 0 {
			return fmt.Errorf("the files of packages, such as %q, are larger than the limit of %d MiB", name, maxFiles>>20)
		}
		switch {
		case base == oci.Opaque:
			c.hidden[dir] = true
		case whiteout && (hidden == "" || strings.HasPrefix(hidden, oci.Whiteout)):
		case whiteout:
			c.hidden[dir+hidden] = true
		default:
			text, err := io.ReadAll(content)
			c.files[name] = string(text)
			return err
		}
		return nil
	})
}

// hides reports whether a whiteout removes a file, or a directory that contains it.
func (c changes) hides(name string) bool {
	for name != "" {
		dir, _ := path.Split(name)
		if c.hidden[name] || c.hidden[dir] {
			return true
		}
		name = strings.TrimSuffix(dir, "/")
	}
	return false
}

// distributionOf returns the ID in os-release(5), or "debian".
func distributionOf(files map[string]string) string {
	for _, name := range releases {
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
	for line := range strings.Lines(text) {
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
