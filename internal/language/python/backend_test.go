package python_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/language"
)

// TestBackends builds the same function with each build backend, and looks for a file of its
// package.
func TestBackends(t *testing.T) {
	const head = "[project]\nname = \"my-fn\"\nrequires-python = \">=3.11\"\nscripts = { function = \"my_fn.main:cli\" }\n"
	cases := map[string]struct {
		reason, text string
		files        map[string]string
		want         string // a path in site-packages, or part of the error
		fails        bool
	}{
		"Hatch":           {"hatchling finds the package with the name of the project", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n", map[string]string{"my_fn/main.py": ""}, "my_fn/main.py", false},
		"HatchSrc":        {"a package below src loses that folder", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n[tool.hatch.build.targets.wheel]\npackages = [\"src/my_fn\"]\nexclude = [\"*.md\"]\n", map[string]string{"src/my_fn/main.py": "", "src/my_fn/a.md": ""}, "my_fn/main.py", false},
		"Setuptools":      {"setuptools reads the version from an attribute", head + "dynamic = [\"version\"]\n[build-system]\nbuild-backend = \"setuptools.build_meta\"\n[tool.setuptools]\npackages = [\"my_fn\", \"my_fn.sub\"]\n[tool.setuptools.dynamic]\nversion = { attr = \"my_fn.__version__\" }\n", map[string]string{"my_fn/__init__.py": "__version__: str = '1.2'\n", "my_fn/main.py": "", "my_fn/sub/a.py": ""}, "my_fn/sub/a.py", false},
		"SetuptoolsFlat":  {"setuptools finds the only package", head + "version = \"1\"\n", map[string]string{"other/__init__.py": "", "tests/__init__.py": ""}, "other/__init__.py", false},
		"SetupPy":         {"setup.py would have to run", head + "version = \"1\"\n", map[string]string{"setup.py": "", "my_fn/main.py": ""}, "the project has the file setup.py", true},
		"SetuptoolsFind":  {"patterns are not expanded", head + "version = \"1\"\n[tool.setuptools.packages.find]\nwhere = [\"lib\"]\n", map[string]string{"my_fn/main.py": ""}, "found by patterns", true},
		"Flit":            {"flit reads the version from the module", head + "dynamic = [\"version\"]\n[build-system]\nbuild-backend = \"flit_core.buildapi\"\n", map[string]string{"my_fn/__init__.py": "__version__ = '2'\n"}, "my_fn-2.dist-info/METADATA", false},
		"Poetry":          {"poetry lists packages with their folder", head + "version = \"1\"\n[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry]\npackages = [{ include = \"my_fn\", from = \"lib\" }]\n", map[string]string{"lib/my_fn/main.py": ""}, "my_fn/main.py", false},
		"PoetryScript":    {"a build script would have to run", head + "version = \"1\"\n[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry.build]\nscript = \"build.py\"\n", map[string]string{"my_fn/main.py": ""}, "has a build script", true},
		"UV":              {"uv_build has the module in src", head + "version = \"1\"\n[build-system]\nbuild-backend = \"uv_build\"\n", map[string]string{"src/my_fn/__init__.py": ""}, "my_fn/__init__.py", false},
		"UVRoot":          {"uv_build may have another root", head + "version = \"1\"\n[build-system]\nbuild-backend = \"uv_build\"\n[tool.uv.build-backend]\nmodule-root = \"\"\nmodule-name = \"fn\"\n", map[string]string{"fn/__init__.py": ""}, "fn/__init__.py", false},
		"NothingFound":    {"a project needs a package", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n", nil, "no package with the name of the project", true},
		"DynamicRequires": {"dynamic dependencies would have to be computed", head + "version = \"1\"\ndynamic = [\"dependencies\"]\n[build-system]\nbuild-backend = \"hatchling.build\"\n", map[string]string{"my_fn/main.py": ""}, "the dependencies are dynamic", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"pyproject.toml": tc.text, "requirements.txt": ""})
			write(t, dir, tc.files)
			built, err := build(t, dir, language.Artifacts{Dir: t.TempDir(), Offline: true})
			if err != nil {
				if !tc.fails || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			defer built.Images.Close()
			layers, err := built.Images.All[0].Layers()
			if err != nil {
				t.Fatal(err)
			}
			files := entries(t, layers[len(layers)-1])
			if _, ok := files["fn_x86_64/lib/python3.13/site-packages/"+tc.want]; !ok || tc.fails {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, files)
			}
			if name == "HatchSrc" && len(files) != 7 {
				t.Errorf("an excluded file must not be installed, got %v", files)
			}
		})
	}
}
