//go:build !linux

package rootfs

import (
	"context"
	"os"
)

func (t *tree) cloneRoot(context.Context, *os.Root) error { return errSystem }
