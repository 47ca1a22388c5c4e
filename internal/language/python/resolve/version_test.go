package resolve_test

import (
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// TestVersionOrder compares each pair of a list in ascending order.
func TestVersionOrder(t *testing.T) {
	ordered := []string{
		"0", "1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12", "1.0ALPHA.13.post1", "1.0b1.dev456", "1.0b2", "1.0b2.post345.dev456", "1.0b2-346",
		"1.0c1.dev456", "1.0rc1", "1.0_preview_3", "1.0", "1.0.post456.dev34", "1.0.post456", "1.1.dev1", "1.2+abc", "1.2+abc123", "1.2+1",
		"1.2+1234.abc", "1.2.r32+5", "1.10", "v2", "1!0.1",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			e2e.Equal(t, fmt.Sprintf("%s and %s have the order of the list", a, b), want, version(t, a).Compare(version(t, b)))
		}
	}
	for _, same := range [][2]string{{"1", "1.0.0"}, {"1.0c1", "1.0rc1"}, {"1.0-1", "1.0.post1"}, {"1.0a", "1.0a0"}, {"v1.0", "1.0"}, {"1.0+A-b", "1.0+a.b"}} {
		e2e.Equal(t, fmt.Sprintf("%s and %s are the same version", same[0], same[1]), 0, version(t, same[0]).Compare(version(t, same[1])))
	}
}

func version(t *testing.T, text string) resolve.Version {
	t.Helper()
	return e2e.Must(resolve.ParseVersion(text))(t)
}

func TestParseVersionRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "1.", "1..2", "1.0-", "1.0+", "1.0 beta", "1.0a1a2", "99999999999999999999", "1.0\n1.0"} {
		if v, err := resolve.ParseVersion(text); err == nil {
			t.Errorf("%q is not a version, got %v", text, v)
		}
	}
}

func TestSpecifiers(t *testing.T) {
	cases := []struct {
		specifiers       string
		accepts, refuses []string
	}{
		{"", []string{"1", "2a1"}, nil},
		{"==1.0", []string{"1", "1.0.0", "1.0+local"}, []string{"1.0.1", "1.0.post1"}},
		{"==1.0+x", []string{"1.0+x"}, []string{"1.0", "1.0+y"}},
		{"==1.1.*", []string{"1.1", "1.1.0.post1", "1.1a1", "1.1.5+x"}, []string{"1.10", "1", "2!1.1"}},
		{"==1.1rc1.*", []string{"1.1rc1", "1.1c1.post2"}, []string{"1.1rc2", "1.1"}},
		{"!=1.1.*", []string{"1.2"}, []string{"1.1.3"}},
		{">=1.0,<2", []string{"1.0", "1.9", "1.0.post1"}, []string{"2", "2.0rc1", "1.0rc1"}},
		{"<2.0rc2", []string{"2.0rc1"}, []string{"2.0rc2"}},
		{">1.0", []string{"1.1", "1.0.1"}, []string{"1.0", "1.0.post1", "1.0+x"}},
		{">1.0.post1", []string{"1.0.post2"}, []string{"1.0.post1"}},
		{"<=1.0", []string{"1.0+x", "0.9"}, []string{"1.0.post1"}},
		{"~=2.2", []string{"2.2", "2.9"}, []string{"3.0", "2.1"}},
		{"~=1.4.5a4", []string{"1.4.5a4", "1.4.9"}, []string{"1.5", "1.4.5a3"}},
		{"===1.0", []string{"1.0"}, []string{"1"}},
		{" >= 3.11 , <3.14, ", []string{"3.13.5"}, []string{"3.14.0"}},
	}
	for _, tc := range cases {
		s := e2e.Must(resolve.ParseSpecifiers(tc.specifiers))(t)
		for _, v := range tc.accepts {
			if !s.Match(version(t, v)) {
				t.Errorf("%q must accept %s", tc.specifiers, v)
			}
		}
		for _, v := range tc.refuses {
			if s.Match(version(t, v)) {
				t.Errorf("%q must refuse %s", tc.specifiers, v)
			}
		}
	}
	for _, text := range []string{"1.0", "=1.0", ">=1.*", "~=1", ">=1.0+x", "==1.0.dev1.*", "==x", "^1.0"} {
		if s, err := resolve.ParseSpecifiers(text); err == nil {
			t.Errorf("%q is not a version specifier, got %v", text, s)
		}
	}
}
