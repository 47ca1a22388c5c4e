package sandbox

import "testing"

func TestMapped(t *testing.T) {
	for _, tc := range []struct {
		reason, text string
		want         bool
	}{
		{"the host's own map has all", "         0          0 4294967295\n", true},
		{"a rootless container has 65536", "         0       1000          1\n         1     100000      65536\n", false},
		{"one line has to have them all", "0 0 120000\n120000 200000 1000000\n", false},
		{"wherever they lead", "0 1000 1\n100000 300000 65536\n", true},
		{"one less is not enough", "100000 300000 65535\n", false},
		{"no map has none", "", false},
		{"nor has one that cannot be read", "x y z\n", false},
	} {
		if got := mapped(tc.text, 100000); got != tc.want {
			t.Errorf("mapped(%q): got %v, want %v: %s", tc.text, got, tc.want, tc.reason)
		}
	}
}
