package python_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
)

func TestBuildRefuses(t *testing.T) {
	wheels := template(t)
	replaced := strings.NewReplacer
	models := map[string]string{"../models/pyproject.toml": "[build-system]\nbuild-backend='hatchling.build'\n[project]\nname='models'\nversion='0.0.0'\n[tool.hatch.build.targets.wheel]\npackages=['function']\n", "../models/function/main.py": "x = 1\n"}
	cases := map[string]struct {
		reason     string
		files      map[string]string
		edit       *strings.Replacer
		want, hint string
	}{
		"NoLock":       {"a lock file is required", map[string]string{"pylock.toml": "-"}, replaced(), "expected a lock file: uv.lock", "uv lock"},
		"Contradicts":  {"the lock file is older than the project", nil, replaced("click==8.4.1", "click==8.3.2"), "pyproject.toml requires click==8.3.2, but pylock.toml has click 8.4.1", "uv lock"},
		"NotPinned":    {"a lock file has fixed versions", map[string]string{"pylock.toml": "-", "requirements.txt": "click>=8"}, replaced(), `parsing requirements.txt:1: package "click" has no fixed version`, "uv export, which writes hashes"},
		"Hash":         {"the index serves another file", map[string]string{"pylock.toml": "OTHERHASH"}, replaced(), "has the digest sha256:", ""},
		"Backend":      {"an unknown backend would have to run", nil, replaced("hatchling.build", "scikit_build_core.build"), `by running "scikit_build_core.build"`, string(hint.EmbedRuntimeDir)},
		"Hooks":        {"hooks would have to run", nil, replaced("[tool.hatch.version]", "[tool.hatch.build.hooks.custom]\n[tool.hatch.version]"), "the build has hooks", string(hint.EmbedRuntimeDir)},
		"Version":      {"a version from git would have to be computed", nil, replaced("path = \"function/__version__.py\"", "source = \"vcs\""), "the version is dynamic", string(hint.EmbedRuntimeDir)},
		"NoScript":     {"the function needs a program", nil, replaced("function = \"function.main:cli\"", ""), `[project.scripts] must have the program "function"`, "function.main:cli"},
		"OldPython":    {"the base image has another Python", nil, replaced("<3.14", "<3.13"), "pyproject.toml requires Python >=3.11,<3.13, but the base image has 3.13.5", ""},
		"Outside":      {"a path dependency stays in the project", nil, replaced("\"click==", "\"models @ file:../../models\", \"click=="), `"../../models"`, ""},
		"OtherURL":     {"a direct reference is not locked", nil, replaced("\"click==", "\"models @ git+https://example.org/x\", \"click=="), "expected a version, or a folder", ""},
		"Overwrites":   {"a dependency has a file of the project", models, replaced("\"click==", "\"models @ file:../models\", \"click=="), "packages function and models both have the file", ""},
		"NotTOML":      {"the line of a mistake is named", nil, replaced("name = \"function\"", "name = function"), "parsing pyproject.toml:6:", ""},
		"NoPackage":    {"a package of the wheel exists", map[string]string{"function/__init__.py": ""}, replaced("packages = [\"function\"]", "packages = [\"fn\"]"), `: there is no package "fn"`, "did you mean function?"},
		"PackageAbove": {"a package stays in the project", nil, replaced("packages = [\"function\"]", "packages = [\"../x\"]"), `"../x" is not a path in the project`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			idx := serve(t, false, "", wheels...)
			dir := filepath.Join(source(t, manifest), "fn")
			e2e.WriteFiles(t, dir, map[string]string{"pyproject.toml": tc.edit.Replace(manifest), "function/__version__.py": "__version__ = \"1\"", "function/main.py": "", "pylock.toml": pylock(idx.URL, wheels)})
			for file, text := range tc.files {
				switch text {
				case "-":
					os.Remove(filepath.Join(dir, file))
				case "OTHERHASH":
					e2e.WriteFiles(t, dir, map[string]string{file: strings.ReplaceAll(pylock(idx.URL, wheels), wheels[0].sum(), strings.Repeat("0", 64))})
				default:
					e2e.WriteFiles(t, dir, map[string]string{file: text})
				}
			}
			built, err := build(t, dir, language.Artifacts{Dir: t.TempDir()})
			if err == nil {
				built.Images.Close()
			}
			e2e.ErrorHint(t, tc.reason, err, tc.want, tc.hint)
		})
	}
}

func TestCredentials(t *testing.T) {
	wheels := template(t)
	idx := serve(t, true, "secret", wheels...)
	dir := source(t, manifest)
	e2e.WriteFiles(t, dir, map[string]string{"requirements.txt": pinned(wheels), "netrc": "machine example.org login a password b\nmachine 127.0.0.1\n login u password secret\n"})
	withUser := strings.Replace(idx.URL, "http://", "http://u:secret@", 1) + "/simple"
	empty := serve(t, false, "")
	fromFile := strings.Replace("--index-url "+empty.URL+"/simple\n--extra-index-url "+idx.URL+"/simple\n", idx.URL, strings.Replace(idx.URL, "http://", "http://u:${INDEX_PASSWORD}@", 1), 1)
	for name, tc := range map[string]struct {
		index, netrc, want string
	}{
		"File":  {"", "", ""},
		"URL":   {withUser, "", ""},
		"Netrc": {idx.URL + "/simple", filepath.Join(dir, "netrc"), ""},
		"None":  {idx.URL + "/simple", "", "answers 401 Unauthorized: it requires credentials"},
		"Wrong": {strings.Replace(withUser, "secret", "wr0ng", 1), "", "it does not accept the credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			text := pinned(wheels)
			if tc.index == "" {
				text = fromFile + text
			}
			e2e.WriteFiles(t, dir, map[string]string{"requirements.txt": text})
			built, err := build(t, dir, language.Artifacts{Dir: t.TempDir(), Index: tc.index}, "NETRC="+tc.netrc, "INDEX_PASSWORD=secret")
			if err == nil {
				built.Images.Close()
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error()+string(hint.Of(err)), "wr0ng") {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}
