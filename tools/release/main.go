// Command release builds the files of a release: archives, Debian and RPM packages, an SPDX
// SBOM for each platform, checksums, and the manifests of package managers. It writes the
// same bytes for the same commit, version and Go toolchain.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run builds the release that args describe.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", "../..", "root of the repository")
	out := flags.String("out", "dist", "folder to write, which must not exist or be empty")
	host := flags.String("xfn", "bin/xfn", "xfn for this machine, which prints the completions and manual pages")
	platforms := flags.String("platforms", strings.Join(allPlatforms, ","), "platforms, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	source, err := describe(ctx, *root)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(*out); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %q is not empty", *out)
	}
	r := release{Source: source, dir: *out}
	if r.common, err = commonFiles(ctx, *root, *host); err != nil {
		return err
	}
	for p := range strings.SplitSeq(*platforms, ",") {
		if err := r.add(ctx, *root, p); err != nil {
			return fmt.Errorf("releasing for %s: %w", p, err)
		}
	}
	if err := r.writeChecksums(); err != nil {
		return err
	}
	return r.writeManifests()
}

var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// A release is a folder with the files of a release.
type release struct {
	Source
	dir string
	// common are the files of all archives: completions, manual pages, license, README.
	common []file
	// Assets are the written files, in the order of the platforms.
	Assets []asset
}

// An asset is a file of the release.
type asset struct {
	OS, Arch, Name, SHA256 string
}

// A file is a file of an archive or package.
type file struct {
	name       string // with slashes
	executable bool
	data       []byte
}

// add builds the program for a platform, and writes its archive, SBOM and packages.
func (r *release) add(ctx context.Context, root, platform string) error {
	goos, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return fmt.Errorf("expected OS/ARCH, got %q", platform)
	}
	program, err := buildProgram(ctx, root, r.Source, goos, arch)
	if err != nil {
		return err
	}
	if err := checkFormat(program, goos, arch); err != nil {
		return err
	}
	base := fmt.Sprintf("xfn_%s_%s_%s", r.Version, goos, arch)
	name, write := base+".tar.gz", writeTarball
	binary := file{name: "xfn", executable: true, data: program}
	if goos == "windows" {
		name, write, binary.name = base+".zip", writeZip, "xfn.exe"
	}
	bill, err := sbom(program, r.Source, goos, arch)
	if err != nil {
		return err
	}
	archive, err := write(append([]file{binary}, r.common...), r.Time)
	if err := cmp.Or(err, r.write(goos, arch, name, archive), r.write(goos, arch, base+".spdx.json", bill)); err != nil {
		return err
	}
	if goos != "linux" {
		return nil
	}
	for _, format := range []string{"deb", "rpm"} {
		data, err := packageFor(format, arch, r.Source, binary, r.common)
		if err := cmp.Or(err, r.write(goos, arch, base+"."+format, data)); err != nil {
			return fmt.Errorf("writing the %s package: %w", format, err)
		}
	}
	return nil
}

// write writes a file of the release, and adds it to the assets.
func (r *release) write(goos, arch, name string, data []byte) error {
	if len(data) == 0 {
		return nil // The caller has an error.
	}
	r.Assets = append(r.Assets, asset{goos, arch, name, digest(data)})
	return writeFile(filepath.Join(r.dir, name), data)
}

// writeChecksums writes checksums.txt in the format of sha256sum.
func (r *release) writeChecksums() error {
	var b strings.Builder
	for _, a := range r.Assets {
		fmt.Fprintf(&b, "%s  %s\n", a.SHA256, a.Name)
	}
	return writeFile(filepath.Join(r.dir, "checksums.txt"), []byte(b.String()))
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
