package sandbox

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestMapped(t *testing.T) {
	for _, tc := range []struct {
		reason, text string
		want         bool
	}{
		{"the map of the host has all ids", "         0          0 4294967295\n", true},
		{"a rootless container has 65536 ids", "         0       1000          1\n         1     100000      65536\n", false},
		{"a single line must have all of the ids", "0 0 120000\n120000 200000 1000000\n", false},
		{"the ids outside do not matter", "0 1000 1\n100000 300000 65536\n", true},
		{"one id less is not enough", "100000 300000 65535\n", false},
		{"an empty map has no ids", "", false},
		{"a malformed map has no ids", "x y z\n", false},
	} {
		e2e.Equal(t, tc.reason, tc.want, mapped(tc.text, 100000))
	}
}
