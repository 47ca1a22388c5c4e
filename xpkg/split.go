package xpkg

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// A Target is the path of a file and the artifact to write to it.
type Target struct {
	Path     string
	Artifact Artifact
}

// Split returns a file for each image of a, in their order. Its path is that of path
// with the image's platform before the extension, as in "hello-linux-arm-v7.xpkg".
// Join of these files returns a again.
func Split(a Artifact, path func(Artifact) (string, error)) ([]Target, error) {
	images, err := Images(a)
	if err != nil {
		return nil, err
	}
	var targets []Target
	seen := map[string]bool{}
	for _, i := range images {
		if i.Platform == nil {
			return nil, errors.New("naming a file by its platform: the image has none")
		}
		p, err := path(i.Image)
		if err != nil {
			return nil, err
		}
		ext := filepath.Ext(p)
		p = strings.TrimSuffix(p, ext) + "-" + suffix(i) + ext
		if seen[p] {
			return nil, fmt.Errorf("two images would be the file %q", p)
		}
		seen[p] = true
		targets = append(targets, Target{p, i.Image})
	}
	return targets, nil
}

// suffix returns an image's platform as a part of a file's name. The platform comes
// from a runtime image and may be anything.
func suffix(i PlatformImage) string {
	var parts []string
	for _, part := range append([]string{i.Platform.OS, i.Platform.Architecture, i.Platform.Variant, i.Platform.OSVersion}, i.Platform.OSFeatures...) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
}
