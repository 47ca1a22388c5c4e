package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// debian is the target of Debian 13.
var debian = resolve.Target{Arch: "amd64", Minor: 13, Patch: 5, LibcMajor: 2, LibcMinor: 41}

func TestParseRequirement(t *testing.T) {
	type parts struct {
		Name       string
		Extras     []string
		Specifiers string
		URL        string
		Marker     string
		Text       string
	}
	cases := map[string]struct {
		reason, text string
		want         parts
	}{
		"Pinned":    {"one version is accepted", "click==8.3.2", parts{Name: "click", Specifiers: "==8.3.2", Text: "click==8.3.2"}},
		"Normal":    {"names are normalized", "Foo._Bar [Baz_A, b] (>=1,<2)", parts{Name: "foo-bar", Extras: []string{"baz-a", "b"}, Specifiers: ">=1,<2", Text: "Foo._Bar [Baz_A, b] (>=1,<2)"}},
		"Marker":    {"a marker follows a semicolon", "a>=1;python_version<'3.12'", parts{Name: "a", Specifiers: ">=1", Marker: "python_version<'3.12'", Text: "a>=1"}},
		"Directory": {"a path is a reference", "crossplane-models @ file:./../../schemas/python", parts{Name: "crossplane-models", URL: "file:./../../schemas/python", Text: "crossplane-models @ file:./../../schemas/python"}},
		"URLMarker": {"a marker of a URL needs a space", "a@https://example.org/a;b.whl ; os_name=='posix'", parts{Name: "a", URL: "https://example.org/a;b.whl", Marker: "os_name=='posix'", Text: "a @ https://example.org/a;b.whl"}},
		"NoExtras":  {"empty brackets are allowed", "a[]", parts{Name: "a", Text: "a[]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := e2e.Must(resolve.ParseRequirement(tc.text))(t)
			got := parts{r.Name, r.Extras, r.Specifiers.String(), r.URL, r.Marker.String(), r.Text}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
	for _, text := range []string{"", "-a", "a b", "a[", "a[,]", "a(>=1", "a @", "a @ x y", "a; os", "a=1", "a>=1; extra == "} {
		if r, err := resolve.ParseRequirement(text); err == nil {
			t.Errorf("%q is not a requirement, got %+v", text, r)
		}
	}
}

func TestMarkers(t *testing.T) {
	cases := map[string]bool{
		"":                                            true,
		"python_version >= '3.9'":                     true,
		"python_version < '3.9'":                      false, // 3.13 is after 3.9: it is a version, not a text
		"'3.9' < python_version":                      true,
		"python_version ~= '3.11'":                    true,
		"python_version == '3.13.*'":                  true,
		"python_version in '3.12, 3.13'":              true,
		"python_full_version < '3.13.6'":              true,
		"sys_platform == 'win32' or os_name=='posix'": true,
		"sys_platform == 'win32' or os_name=='nt' and os_name!='nt'":    false,
		"(sys_platform == 'win32' or os_name=='posix') and os_name<'a'": false,
		"'linux' in sys_platform":                                       true,
		"platform_machine not in 'aarch64'":                             true,
		"platform_machine == \"x86_64\"":                                true,
		"extra == 'Foo_bar'":                                            true,
		"extra != 'foo-bar'":                                            false,
		"'foo-bar' in extras":                                           true,
		"'dev' in dependency_groups":                                    false,
		"'dev' not in dependency_groups":                                true,
		"platform_release >= '5'":                                       false,
		"implementation_name === 'cpython'":                             true,
		"os.name == 'posix' and python_implementation == 'CPython'":     true,
		"sys.platform == 'win32'":                                       false,
	}
	for text, want := range cases {
		m, err := resolve.ParseMarker(text)
		if err != nil {
			t.Error(err)
		} else if got := m.Match(debian.Environment("foo-bar")); got != want {
			t.Errorf("%q is %t on %s, got %t", text, want, debian, got)
		}
	}
	for _, text := range []string{
		"x == 'y'", "os_name", "os_name == ", "os_name == 'a", "os_name = 'a'", "os_name == 'a' and", "os_name == 'a')", "(os_name == 'a'", "os_name not 'a'",
		"os_name == sys_platform", "extras == 'a'", "'a' == extras", "extra < 'a'", "os_names == 'a'", strings.Repeat("(", 100) + "os_name == 'a'" + strings.Repeat(")", 100),
	} {
		if m, err := resolve.ParseMarker(text); err == nil {
			t.Errorf("%q is not a marker, got %v", text, m)
		}
	}
}

func TestTags(t *testing.T) {
	tags := debian.Tags()
	ordered := []string{
		"cp313-cp313-manylinux_2_41_x86_64", "cp313-cp313-manylinux_2_17_x86_64", "cp313-cp313-manylinux2014_x86_64", "cp313-cp313-manylinux1_x86_64", "cp313-cp313-linux_x86_64",
		"cp313-abi3-manylinux_2_28_x86_64", "cp313-none-linux_x86_64", "cp310-abi3-manylinux2014_x86_64", "cp32-abi3-linux_x86_64",
		"py313-none-manylinux2014_x86_64", "py3-none-linux_x86_64", "py30-none-linux_x86_64", "cp313-none-any", "py313-none-any", "py3-none-any", "py30-none-any",
	}
	last := -1
	for _, tag := range ordered {
		i := slices.Index(tags, tag)
		if i <= last {
			t.Errorf("tag %s is at %d, want it after %d", tag, i, last)
		}
		last = i
	}
	for _, tag := range []string{"cp312-cp312-manylinux_2_17_x86_64", "cp314-abi3-manylinux_2_17_x86_64", "py2-none-any", "cp313-cp313-manylinux_2_42_x86_64", "cp313-cp313-manylinux_2_17_aarch64", "cp313-cp313-musllinux_1_2_x86_64", "cp313-cp313t-manylinux_2_17_x86_64"} {
		if slices.Contains(tags, tag) {
			t.Errorf("tag %s is not one of %s", tag, debian)
		}
	}
	alpine := resolve.Target{Arch: "arm64", Minor: 12, Musl: true, LibcMajor: 1, LibcMinor: 2}.Tags()
	e2e.Equal(t, "the first tags of Alpine are", []string{"cp312-cp312-musllinux_1_2_aarch64", "cp312-cp312-musllinux_1_1_aarch64", "cp312-cp312-musllinux_1_0_aarch64"}, alpine[:3])
	old := resolve.Target{Arch: "arm64", Minor: 12, LibcMajor: 2, LibcMinor: 17}.Tags()
	if slices.ContainsFunc(old, func(tag string) bool { return strings.Contains(tag, "manylinux2010") }) {
		t.Error("manylinux2010 does not exist for arm64")
	}
}

func TestWheelNames(t *testing.T) {
	w := e2e.Must(resolve.ParseWheelName("Pydantic_Core-2.41.5-1abc-cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"))(t)
	if w.Name != "pydantic-core" || w.Version.String() != "2.41.5" || w.Build != 1 || len(w.Tags) != 2 || !debian.Supports(w.Tags) {
		t.Errorf("got %+v", w)
	}
	for _, name := range []string{"", "a.whl", "a-1.0.tar.gz", "a-1.0-py3-none.whl", "a-x-py3-none-any.whl", "a-1.0-b-py3-none-any.whl", "../a-1.0-py3-none-any.whl", "a--1.0-py3-none-any.whl", "a-1-" + strings.Repeat("x.", 2000) + "x-none-any.whl"} {
		if w, err := resolve.ParseWheelName(name); err == nil {
			t.Errorf("%q is not the name of a wheel, got %+v", name, w)
		}
	}
}
