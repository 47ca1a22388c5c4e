package npm_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

// object is an object in JSON.
type object = map[string]any

// lockOf returns a lock file of version 3 with these packages. It adds the project if
// packages does not have it.
func lockOf(t testing.TB, packages object) *npm.Lock {
	t.Helper()
	if packages[""] == nil {
		packages[""] = object{"name": "fn"}
	}
	return e2e.Must(npm.ParseLock(encoded(t, object{"lockfileVersion": 3, "packages": packages})))(t)
}

func manifestOf(t testing.TB, content object) *npm.Manifest {
	t.Helper()
	return e2e.Must(npm.ParseManifest(encoded(t, content)))(t)
}

func encoded(t testing.TB, value any) []byte {
	t.Helper()
	return e2e.Must(json.MarshalIndent(value, "", "  "))(t)
}

func TestParseLockRefuses(t *testing.T) {
	file := func(version int, packages object) string {
		return string(encoded(t, object{"lockfileVersion": version, "packages": packages}))
	}
	with := func(at string, e any) string { return file(3, object{"": object{}, at: e}) }
	cases := map[string]struct{ reason, text, want string }{
		"Version1":   {"version 1 has no locations", file(1, object{"": object{}}), "expected lockfileVersion 2 or 3, got 1"},
		"NoProject":  {"the project itself is required", file(3, object{}), `the project has no entry`},
		"Syntax":     {"a syntax error has its line", "{\n\n]", "line 3"},
		"Type":       {"a wrong type has its line", "{\n\"lockfileVersion\": \"x\"}", "line 2"},
		"Null":       {"null is not a package", with("node_modules/a", nil), `package "node_modules/a": expected an object`},
		"Parent":     {"a package must be in node_modules", with("node_modules/../a", object{}), `"../a" is not the name`},
		"Nested":     {"a nested package needs a name, too", with("node_modules/a/node_modules/", object{}), `"" is not the name`},
		"Scope":      {"a scope alone is not a name", with("node_modules/@a", object{}), `"@a" is not the name`},
		"Hidden":     {"names with a leading dot are not names", with("node_modules/.bin", object{}), `".bin" is not the name`},
		"Absolute":   {"absolute folders are outside of the project", with("/etc", object{}), "expected a clean relative path"},
		"Drive":      {"drives of Windows are outside of the project", with("C:/a", object{}), "expected a clean relative path"},
		"Backslash":  {"a backslash separates folders on Windows", with(`a\..\b`, object{}), "expected a clean relative path"},
		"Unclean":    {"paths must be clean", with("a/../../b", object{}), "expected a clean relative path"},
		"LinkInside": {"a link must not lead to a package", with("node_modules/a", object{"link": true, "resolved": "node_modules/b"}), "expected a folder of the project"},
		"Alias":      {"the name of an alias becomes a part of a URL", with("node_modules/a", object{"name": "../a"}), `"../a" is not the name`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(npm.ParseLock([]byte(tc.text))), tc.want)
		})
	}
	for _, tc := range []struct{ reason, text, want, hint string }{
		{"a last member has no comma", "{\"dependencies\": {\n\"a\": \"1\",\n}\n}", "line 2: a comma before }", "remove the comma"},
		{"a last element has no comma", "{\"os\": [\"linux\",]}", "line 1: a comma before ]", "remove the comma"},
		{"members have a comma between them", "{\"main\": \"a\"\n\"name\": \"b\"}", "line 1: a comma or a bracket is missing at the end", "add it"},
		{"elements have a comma between them", "{\"os\": [\"a\"\n\"b\"]}", "line 1: a comma or a bracket is missing at the end", "add it"},
		{"a member has a colon", "{\"main\" \"a\"}", "line 1: invalid character '\"' after object key", "correct the JSON"},
		{"comments are of other formats", "{\n// x\n}", "line 2: JSON has no comments", "remove the comment"},
		{"texts have double quotes", "{'a': 1}", "line 1: JSON has no single quotes", "double quotes"},
		{"a file may end too early", "{\n\"a\": 1\n", "line 3: unexpected end of JSON input", "correct the JSON"},
		{"a value must have the type of its field", "{\n\"dependencies\": [\"a\"]}", "line 2: dependencies must be an object, got array", "correct the value"},
		{"the type of a version is a string", "{\n\"dependencies\": {\"a\": 1}}", "line 2: dependencies must be a string, got number", "correct the value"},
	} {
		_, err := npm.ParseManifest([]byte(tc.text))
		e2e.ErrorHas(t, tc.reason, err, tc.want)
		e2e.Equal(t, tc.reason, true, strings.Contains(string(hint.Of(err)), tc.hint))
	}
	_, err := npm.ParseLock([]byte("{\n<<<<<<< HEAD\n"))
	e2e.Has(t, "the hint explains a merge conflict", string(hint.Of(err)), "merge conflict")
}

func TestCheck(t *testing.T) {
	lock := lockOf(t, object{
		"":                   object{"dependencies": object{"a": "^1.0.0", "tagged": "latest", "git": "github:x/y"}, "optionalDependencies": object{"gone": "1"}},
		"node_modules/a":     object{"version": "1.2.3"},
		"node_modules/alias": object{"version": "2.0.0", "name": "real"},
		"node_modules/pre":   object{"version": "3.0.0-rc.1"},
		"node_modules/tagged": object{
			"version": "5.0.0",
		},
		"node_modules/git":   object{"version": "1.0.0"},
		"node_modules/local": object{"link": true, "resolved": "packages/local"},
		"packages/local":     object{},
	})
	cases := map[string]struct{ reason, field, name, now, want string }{
		"Same":        {"the lock file has a version in the range", "dependencies", "a", "^1.0.0", ""},
		"OtherRange":  {"another range that the version satisfies is correct", "dependencies", "a", "1.x || 2.x", ""},
		"Contradicts": {"a version outside of the range is an error", "dependencies", "a", "^2.0.0", `package.json:3 asks for a "^2.0.0", but package-lock.json has version 1.2.3`},
		"Missing":     {"a missing package is an error", "dependencies", "b", "^1", `asks for b "^1", but package-lock.json has no such package`},
		"Optional":    {"npm leaves an optional package out that it cannot install", "optionalDependencies", "gone", "1", ""},
		"OptionalNew": {"an optional package that the lock file does not know is an error", "optionalDependencies", "new", "1", "no such package"},
		"Alias":       {"the range of an alias follows the name", "dependencies", "alias", "npm:real@^2", ""},
		"AliasRange":  {"the range of an alias is checked", "dependencies", "alias", "npm:real@^3", "version 2.0.0"},
		"AliasName":   {"the package of an alias is checked", "dependencies", "alias", "npm:@s/real@^2", "package-lock.json has the package real"},
		"AliasGone":   {"a name that is no longer an alias is an error", "dependencies", "alias", "^2", "package-lock.json has the package real"},
		"Tag":         {"a tag that did not change is correct", "dependencies", "tagged", "latest", ""},
		"TagChanged":  {"a tag that changed is an error", "dependencies", "tagged", "next", `has "latest"`},
		"URL":         {"a URL that did not change is correct", "dependencies", "git", "github:x/y", ""},
		"Link":        {"a link has no version", "dependencies", "local", "*", ""},
		"Name":        {"names must be safe paths", "dependencies", "../a", "1", `"../a" is not the name of a package`},
		"Development": {"development dependencies are not used", "devDependencies", "b", "^1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.WantError(t, tc.reason, lock.Check("", manifestOf(t, object{tc.field: object{tc.name: tc.now}})), tc.want)
		})
	}
}

func TestTree(t *testing.T) {
	deps := func(names ...string) object {
		all := object{}
		for _, n := range names {
			all[n] = "*"
		}
		return all
	}
	const bundled = "packages/lib/node_modules/d/node_modules/inside"
	lock := lockOf(t, object{
		"node_modules/a":                object{"version": "1.0.0", "dependencies": deps("b"), "peerDependencies": deps("peer", "rare", "gone"), "peerDependenciesMeta": object{"rare": object{"optional": true}}},
		"node_modules/b":                object{"version": "1.0.0"},
		"node_modules/a/node_modules/b": object{"version": "2.0.0", "dependencies": deps("c")},
		"node_modules/c":                object{"version": "1.0.0", "dependencies": deps("a")},
		"node_modules/peer":             object{"version": "1.0.0"},
		"node_modules/rare":             object{"version": "1.0.0"},
		"node_modules/dev":              object{"version": "1.0.0", "dev": true},
		"node_modules/sharp":            object{"version": "1.0.0", "optionalDependencies": deps("x64", "arm64", "musl", "notdarwin", "chain")},
		"node_modules/x64":              object{"version": "1.0.0", "os": []string{"linux"}, "cpu": []string{"x64"}, "optional": true},
		"node_modules/arm64":            object{"version": "1.0.0", "os": "linux", "cpu": "arm64", "optional": true},
		"node_modules/musl":             object{"version": "1.0.0", "libc": []string{"musl"}, "optional": true},
		"node_modules/notdarwin":        object{"version": "1.0.0", "os": []string{"!darwin", "!win32"}, "optional": true},
		"node_modules/chain":            object{"version": "1.0.0", "optional": true, "dependencies": deps("chain2")},
		"node_modules/chain2":           object{"version": "1.0.0", "optional": true, "dependencies": deps("darwin")},
		"node_modules/darwin":           object{"version": "1.0.0", "os": []string{"darwin"}},
		"node_modules/lib":              object{"link": true, "resolved": "packages/lib"},
		"packages/lib":                  object{"dependencies": deps("d")},
		"packages/lib/node_modules/d":   object{"version": "1.0.0", "dependencies": deps("inside")},
		"node_modules/d":                object{"version": "2.0.0"},
		bundled:                         object{"version": "1.0.0", "inBundle": true},
		"node_modules/devlib":           object{"link": true, "resolved": "packages/devlib", "dev": true},
		"packages/devlib":               object{},
		"node_modules/esbuild":          object{"version": "1.0.0", "optionalDependencies": deps("darwin", "linux")},
		"node_modules/own":              object{"version": "1.0.0", "integrity": "sha512-x", "inBundle": true},
		"node_modules/bad":              object{"version": "1.0.0", "dependencies": deps("absent")},
	})
	x64, arm := npm.TargetOf("amd64"), npm.TargetOf("arm64")
	musl := x64
	musl.Libc = "musl"
	lib := []string{"node_modules/lib", "packages/lib/node_modules/d", bundled}
	cases := map[string]struct {
		reason   string
		manifest object
		target   npm.Target
		want     []string
	}{
		"Closest":         {"a package gets the version in the closest node_modules, and npm's order of cycles", object{"dependencies": deps("a")}, x64, []string{"node_modules/a", "node_modules/a/node_modules/b", "node_modules/c", "node_modules/peer"}},
		"Dev":             {"development dependencies are not part of it", object{"dependencies": deps("b"), "devDependencies": deps("dev")}, x64, []string{"node_modules/b"}},
		"X64":             {"optional packages for the platform are part of it, for each libc", object{"dependencies": deps("sharp")}, x64, []string{"node_modules/musl", "node_modules/notdarwin", "node_modules/sharp", "node_modules/x64"}},
		"Glibc":           {"optional packages for another libc are not part of it", object{"dependencies": deps("sharp")}, npm.Target{OS: "linux", CPU: "arm64", Libc: "glibc"}, []string{"node_modules/arm64", "node_modules/notdarwin", "node_modules/sharp"}},
		"Musl":            {"optional packages for the libc are part of it", object{"dependencies": deps("sharp")}, musl, []string{"node_modules/musl", "node_modules/notdarwin", "node_modules/sharp", "node_modules/x64"}},
		"Arm":             {"another platform has other packages", object{"optionalDependencies": deps("x64", "arm64")}, arm, []string{"node_modules/arm64"}},
		"ProjectBundle":   {"what the project itself would bundle is fetched", object{"dependencies": deps("own")}, x64, []string{"node_modules/own"}},
		"OtherPlatform":   {"a lock file of another platform may lack optional packages", object{"dependencies": deps("esbuild")}, x64, []string{"node_modules/esbuild"}},
		"Workspace":       {"workspaces are always part of it", object{}, x64, nil},
		"OptionalMissing": {"an optional package that needs a missing one is left out", object{"optionalDependencies": deps("bad")}, x64, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := e2e.Must(lock.Tree("", manifestOf(t, tc.manifest), tc.target))(t)
			var got []string
			for _, p := range all {
				if p.Bundled != (p.At == bundled) || (len(p.Lacks) > 0) != (p.Import == "esbuild") {
					t.Errorf("%s: got %+v", tc.reason, p)
				}
				got = append(got, p.At)
			}
			want := slices.Concat(tc.want, lib)
			slices.Sort(want)
			e2e.Equal(t, tc.reason, want, got)
		})
	}
	for name, want := range map[string]string{
		"darwin": "the dependency darwin@1.0.0 is not for linux/x64",
		"chain":  "the dependency chain@1.0.0 needs chain2@1.0.0, which needs darwin@1.0.0, which is not for linux/x64",
		"bad":    "the dependency bad@1.0.0 needs absent, which package-lock.json does not have",
		"absent": "package-lock.json does not have the dependency absent",
	} {
		e2e.ErrorHas(t, name+": the error has the chain of dependencies", e2e.Err(lock.Tree("", manifestOf(t, object{"dependencies": deps(name)}), x64)), want)
	}
}

// A workspace finds packages in the folders above it.
func TestTreeOfWorkspace(t *testing.T) {
	lock := lockOf(t, object{
		"functions/f":                object{"dependencies": object{"a": "1", "b": "1"}},
		"functions/f/node_modules/a": object{"version": "1.0.0"},
		"node_modules/a":             object{"version": "2.0.0"},
		"node_modules/b":             object{"version": "1.0.0"},
		"node_modules/f":             object{"link": true, "resolved": "functions/f"},
	})
	m := manifestOf(t, object{"dependencies": object{"a": "1", "b": "1"}})
	e2e.NoError(t, lock.Check("functions/f", m))
	all := e2e.Must(lock.Tree("functions/f", m, npm.TargetOf("amd64")))(t)
	if len(all) != 2 || all[0].At != "functions/f/node_modules/a" || all[1].At != "node_modules/b" {
		t.Errorf("got %v", all)
	}
	e2e.ErrorHas(t, "a folder that is not a workspace", lock.Check("functions/g", m), `no project "functions/g"`)
}

// FuzzLock checks that locations in an accepted lock file cannot leave its folder, except
// for folders of links.
func FuzzLock(f *testing.F) {
	f.Add([]byte(`{"lockfileVersion":3,"packages":{"":{"dependencies":{"a":"1"}},"node_modules/a":{"version":"1.0.0","os":["!linux"]}}}`))
	f.Add([]byte(`{"lockfileVersion":2,"packages":{"":{},"../x":{},"node_modules/@s/x":{"link":true,"resolved":"../x"},"p/node_modules/b":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := npm.ParseLock(data)
		if err != nil {
			return
		}
		m, err := npm.ParseManifest(data)
		if err != nil {
			m = &npm.Manifest{}
		}
		_ = lock.Check("", m)
		all, err := lock.Tree("", m, npm.TargetOf("arm64"))
		if err != nil {
			return
		}
		for _, p := range all {
			at := strings.TrimLeft(p.At, "./")
			if strings.HasPrefix(p.At, "/") || strings.Contains("/"+at+"/", "/../") || strings.Contains(at, "\\") {
				t.Errorf("package %q", p.At)
			}
		}
	})
}
