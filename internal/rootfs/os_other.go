//go:build !linux

package rootfs

import "errors"

// errSystem is why this system unpacks no image: what runs such roots is on
// Linux, and other file systems do not have all that they are made of.
var errSystem = errors.New("root file systems of images are unpacked on Linux only")

func syncFiles(string) error { return nil }
