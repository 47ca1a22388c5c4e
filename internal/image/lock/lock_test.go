package lock_test

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/remote"
)

func TestPin(t *testing.T) {
	l := full()
	const f = "registry.example.org/acme/f"
	cases := map[string]struct{ reason, ref, want, err string }{
		"Tag":         {"a tag is replaced by its digest", f + ":v1.2.0", f + "@" + one, ""},
		"Base":        {"the tag of a base image is replaced by its digest", "registry.example.org:5000/python:3.12", "registry.example.org:5000/python@" + one, ""},
		"Digest":      {"a locked digest is unchanged", f + "@" + one, f + "@" + one, ""},
		"Both":        {"the digest of a tag and a digest is used", f + ":v7@" + one, f + "@" + one, ""},
		"Package":     {"the tag of a dependency of a project is replaced by its digest", "registry.example.org/acme/c:v1.0.0", "registry.example.org/acme/c@" + one, ""},
		"OtherTag":    {"another tag is an error", f + ":v1.3.0", "", `"` + f + `:v1.3.0" is not in the lock file "l"`},
		"OtherDigest": {"another digest is an error", f + "@" + two, "", `"` + f + "@" + two + `" is not in the lock file "l", which has ` + one + " of it"},
		"OtherRepo":   {"a digest of another repository is an error", "registry.example.org/acme/z@" + one, "", "is not in the lock file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := l.Pin(e2e.Must(remote.ParseReference(tc.ref, ""))(t))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.HasPrefix(string(hint.Of(err)), "run xfn lock") {
					t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			e2e.NoError(t, err)
			e2e.Equal(t, tc.reason, tc.want, got.Name())
		})
	}
}

func TestReference(t *testing.T) {
	const g = "acme/g"
	cases := map[string]struct{ reason, pkg, version, want, err string }{
		"Constraint": {"a constraint is replaced by the locked version", "acme/f", ">=v1.0.0, <v2", "acme/f:v1.2.0", ""},
		"Whole":      {"a reference is unchanged", "acme/f:v1.2.0", "", "acme/f:v1.2.0", ""},
		"Digest":     {"a digest is unchanged", g, two, "acme/g@" + two, ""},
		"Package":    {"a dependency of a project has a locked version", "acme/c", ">=v1", "acme/c:v1.0.0", ""},
		"Other":      {"another constraint is an error", "acme/f", ">=v1.0.0", "", `p:3: "acme/f >=v1.0.0" is not in the lock file "l", which has registry.example.org/acme/f:v1.2.0 for >=v1.0.0, <v2`},
		"Unlocked":   {"an unlocked package is an error", "acme/z", "v1", "", `p:3: "acme/z v1" is not in the lock file "l"`},
		"NoName":     {"an invalid name is an error", "a b", "v1", "", "p:3: parsing repository"},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			d := lock.Dependency{Package: tc.pkg, Version: tc.version, Path: "p", Line: 3}
			got, err := full().Reference(d, func(s string) (name.Reference, error) { return remote.ParseReference(s, "registry.example.org") })
			if (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Fatalf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
			if err == nil && got != "registry.example.org/"+tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestClosure(t *testing.T) {
	for what, tc := range map[string]struct{ reason, pkg, version, want, err string }{
		"All":     {"the packages that a package depends on are returned, too", "acme/c", ">=v1", "registry.example.org/acme/c:v1.0.0 registry.example.org/acme/p@" + two, ""},
		"Lacking": {"a package that the lock lacks is an error", "acme/p", "v9", "", `"registry.example.org/acme/p v9" is not in the lock file "l"`},
		"Without": {"a dependency that the lock lacks is an error", "acme/d", "v1.0.0", "", `"registry.example.org/acme/e >=v2" is not in the lock file "l"`},
		"Version": {"a version is required", "acme/c", "", "", "it has no tag"},
	} {
		t.Run(what, func(t *testing.T) {
			l := full()
			l.Packages = append(l.Packages, lock.Image{Reference: "registry.example.org/acme/d:v1.0.0", Constraint: "v1.0.0", Digest: one, Dependencies: []string{"registry.example.org/acme/e >=v2"}})
			images, err := l.Closure(lock.Dependency{Package: tc.pkg, Version: tc.version}, func(s string) (name.Reference, error) { return remote.ParseReference(s, "registry.example.org") })
			e2e.WantError(t, tc.reason, err, tc.err)
			var got []string
			for _, i := range images {
				got = append(got, i.Reference)
			}
			e2e.Equal(t, tc.reason, tc.want, strings.Join(got, " "))
		})
	}
}
