package runtimeimage

import (
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/xpkg"
)

// only returns one image for each wanted platform, in order and without duplicates. If no
// platform is wanted, it returns all images. It prefers the exact variant of a processor
// to a compatible variant. It returns an error if a platform has no image, or several.
func only(all []v1.Image, wanted []v1.Platform) ([]v1.Image, error) {
	if len(wanted) == 0 {
		return all, nil
	}
	available, err := platforms(all)
	if err != nil {
		return nil, err
	}
	var kept []int
	for _, p := range wanted {
		n, err := index(available, p)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(kept, n) {
			kept = append(kept, n)
		}
	}
	images := make([]v1.Image, len(kept))
	for i, n := range kept {
		images[i] = all[n]
	}
	return images, nil
}

// Of returns the image that runs on the platform want.
func (i *Images) Of(want v1.Platform) (v1.Image, error) {
	images, err := only(i.All, []v1.Platform{want})
	if err != nil {
		return nil, err
	}
	return images[0], nil
}

// index returns the index of the available platform that can run programs for want. It
// returns an error if no platform can, or if the platform is available twice.
func index(available []v1.Platform, want v1.Platform) (int, error) {
	n, err := image.Choose(available, want)
	if err != nil {
		return 0, err
	}
	for other, p := range available {
		if other != n && p.Equals(available[n]) {
			return 0, hint.Wrap(fmt.Errorf("there are two images for %s", p), "use a source that contains only one of them")
		}
	}
	return n, nil
}

// platforms returns the platforms of images, in order. The platform of an image whose
// config names none is empty.
func platforms(images []v1.Image) ([]v1.Platform, error) {
	all := make([]v1.Platform, len(images))
	for i, img := range images {
		found, err := xpkg.Images(img)
		if err != nil {
			return nil, err
		}
		if p := found[0].Platform; p != nil {
			all[i] = *p
		}
	}
	return all, nil
}

// onLinux removes the images for systems other than Linux: functions are built for Linux.
func (i *Images) onLinux() error {
	available, err := platforms(i.All)
	if err != nil {
		return err
	}
	var kept []v1.Image
	for n, p := range available {
		if p.OS == "linux" && p.Architecture != "" {
			kept = append(kept, i.All[n])
		}
	}
	switch {
	case len(kept) > 0:
		i.All = kept
		return nil
	case len(available) > 0 && available[0].OS != "":
		return &image.PlatformError{Want: v1.Platform{OS: "linux"}, Available: available}
	default:
		return errors.New("the config of the image has no os and architecture")
	}
}
