//go:build !linux

package rootfs_test

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/xfn-dev/xfn/internal/image/rootfs"
)

func TestLinuxOnly(t *testing.T) {
	_, err := rootfs.Unpack(t.Context(), empty.Image, rootfs.Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "needs Linux") {
		t.Errorf("got %v", err)
	}
}
