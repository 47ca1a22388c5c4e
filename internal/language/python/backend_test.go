package python_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
)

// head is the beginning of the pyproject.toml of a function.
const head = "[project]\nname = \"my-fn\"\nrequires-python = \">=3.11\"\nscripts = { function = \"my_fn.main:cli\" }\n"

// installed builds a function without dependencies in dir, and returns the paths in
// site-packages of its files.
func installed(t *testing.T, dir, pyproject string, source map[string]string) ([]string, error) {
	t.Helper()
	e2e.WriteFiles(t, dir, map[string]string{"pyproject.toml": pyproject, "requirements.txt": ""})
	e2e.WriteFiles(t, dir, source)
	built, err := build(t, dir, language.Artifacts{Dir: t.TempDir(), Offline: true})
	if err != nil {
		return nil, err
	}
	defer built.Images.Close()
	layers := e2e.Must(built.Images.All[0].Layers())(t)
	var all []string
	for name := range entries(t, layers[len(layers)-1]) {
		all = append(all, strings.TrimPrefix(name, "fn_x86_64/lib/python3.13/site-packages/"))
	}
	slices.Sort(all)
	return all, nil
}

// TestBackends builds the same function with each build backend, and looks for a file of its
// package.
func TestBackends(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		files        map[string]string
		want         string // a path in site-packages, or part of the error
		fails        bool
	}{
		"Hatch":             {"hatchling finds the package with the name of the project", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n", map[string]string{"my_fn/main.py": ""}, "my_fn/main.py", false},
		"HatchSrc":          {"a package below src loses that folder", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n[tool.hatch.build.targets.wheel]\npackages = [\"src/my_fn\"]\n", map[string]string{"src/my_fn/main.py": ""}, "my_fn/main.py", false},
		"Setuptools":        {"setuptools reads the version from an attribute", head + "dynamic = [\"version\"]\n[build-system]\nbuild-backend = \"setuptools.build_meta\"\n[tool.setuptools]\npackages = [\"my_fn\", \"my_fn.sub\"]\n[tool.setuptools.dynamic]\nversion = { attr = \"my_fn.__version__\" }\n", map[string]string{"my_fn/__init__.py": "__version__: str = '1.2'\n", "my_fn/main.py": "", "my_fn/sub/a.py": ""}, "my_fn/sub/a.py", false},
		"SetuptoolsFlat":    {"setuptools finds the only package", head + "version = \"1\"\n", map[string]string{"other/__init__.py": "", "tests/__init__.py": ""}, "other/__init__.py", false},
		"SetupPy":           {"setup.py would have to run", head + "version = \"1\"\n", map[string]string{"setup.py": "", "my_fn/main.py": ""}, "the project has the file setup.py", true},
		"SetuptoolsFindKey": {"an unknown key of a finder is an error", head + "version = \"1\"\n[tool.setuptools.packages.find]\nwhere = [\"lib\"]\nwith = 1\n", map[string]string{"lib/my_fn/main.py": ""}, "tool.setuptools.packages.find: unknown key \"with\"", true},
		"Flit":              {"flit reads the version from the module", head + "dynamic = [\"version\"]\n[build-system]\nbuild-backend = \"flit_core.buildapi\"\n", map[string]string{"my_fn/__init__.py": "__version__ = '2'\n"}, "my_fn-2.dist-info/METADATA", false},
		"Poetry":            {"poetry lists packages with their folder", head + "version = \"1\"\n[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry]\npackages = [{ include = \"my_fn\", from = \"lib\" }]\n", map[string]string{"lib/my_fn/main.py": ""}, "my_fn/main.py", false},
		"PoetryScript":      {"a build script would have to run", head + "version = \"1\"\n[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry.build]\nscript = \"build.py\"\n", map[string]string{"my_fn/main.py": ""}, "has a build script", true},
		"UV":                {"uv_build has the module in src", head + "version = \"1\"\n[build-system]\nbuild-backend = \"uv_build\"\n", map[string]string{"src/my_fn/__init__.py": ""}, "my_fn/__init__.py", false},
		"UVRoot":            {"uv_build may have another root", head + "version = \"1\"\n[build-system]\nbuild-backend = \"uv_build\"\n[tool.uv.build-backend]\nmodule-root = \"\"\nmodule-name = \"fn\"\n", map[string]string{"fn/__init__.py": ""}, "fn/__init__.py", false},
		"SetupShim":         {"a setup.py may leave everything to pyproject.toml", head + "dynamic = [\"version\"]\n[tool.setuptools.dynamic]\nversion = { file = \"VERSION\" }\n", map[string]string{"setup.py": "# shim\nfrom setuptools import setup\n\nsetup()\n", "setup.cfg": "[flake8]\n", "VERSION": "3.1\n", "my_fn/main.py": ""}, "my_fn-3.1.dist-info/METADATA", false},
		"SetupCfg":          {"setup.cfg may have settings of the build", head + "version = \"1\"\n", map[string]string{"setup.cfg": "[options]\npackages = a\n", "my_fn/main.py": ""}, "the project has the file setup.cfg", true},
		"SetuptoolsData":    {"data files are outside of site-packages", head + "version = \"1\"\n[tool.setuptools]\ndata-files = { etc = [\"a\"] }\n", map[string]string{"my_fn/main.py": ""}, "data-files or script-files", true},
		"SetuptoolsAttr":    {"an attribute may be in a package in src", head + "dynamic = [\"version\"]\n[tool.setuptools.dynamic]\nversion = { attr = \"my_fn.about.VERSION\" }\n", map[string]string{"src/my_fn/about.py": "VERSION = '4'\n"}, "my_fn-4.dist-info/METADATA", false},
		"FlitVersion":       {"flit also looks for the version in a module of its own", head + "dynamic = [\"version\"]\n[build-system]\nbuild-backend = \"flit_core.buildapi\"\n", map[string]string{"my_fn/__init__.py": "", "my_fn/_version.py": "__version__ = '5'\n"}, "my_fn-5.dist-info/METADATA", false},
		"FlitData":          {"external data is outside of site-packages", head + "version = \"1\"\n[build-system]\nbuild-backend = \"flit_core.buildapi\"\n[tool.flit.external-data]\ndirectory = \"data\"\n", map[string]string{"my_fn/__init__.py": ""}, "the wheel has external data", true},
		"HatchPattern":      {"hatchling finds the version by a pattern", head + "dynamic = [\"version\"]\n[build-system]\nbuild-backend = \"hatchling.build\"\n[tool.hatch.version]\npath = \"my_fn/v.txt\"\npattern = '^release (?P<version>\\S+)'\n", map[string]string{"my_fn/v.txt": "x\nrelease 6\n"}, "my_fn-6.dist-info/METADATA", false},
		"HatchData":         {"shared data is outside of site-packages", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n[tool.hatch.build.targets.wheel.shared-data]\na = \"b\"\n", map[string]string{"my_fn/main.py": ""}, "shared-data or shared-scripts", true},
		"PoetryDepends":     {"poetry may have dependencies of its own", head + "version = \"1\"\n[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry.dependencies]\npython = \"^3.11\"\nclick = \"*\"\n", map[string]string{"my_fn/main.py": ""}, "dependencies are in tool.poetry.dependencies", true},
		"NothingFound":      {"a project needs a package", head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n", nil, "no package with the name of the project", true},
		"DynamicRequires":   {"dynamic dependencies would have to be computed", head + "version = \"1\"\ndynamic = [\"dependencies\"]\n[build-system]\nbuild-backend = \"hatchling.build\"\n", map[string]string{"my_fn/main.py": ""}, "the dependencies are dynamic", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files, err := installed(t, t.TempDir(), tc.text, tc.files)
			if err != nil {
				if !tc.fails || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.want)
				}
				return
			}
			if !slices.Contains(files, tc.want) || tc.fails {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, files)
			}
		})
	}
}

// TestBackendFiles compares all files that build backends select.
func TestBackendFiles(t *testing.T) {
	const (
		hatch      = head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n[tool.hatch.build]\n"
		setuptools = head + "version = \"1\"\n[tool.setuptools.packages.find]\n"
	)
	ignored := func(text string) map[string]string {
		return map[string]string{".gitignore": text, "my_fn/main.py": "", "my_fn/a.log": "", "my_fn/gen/b.py": ""}
	}
	packages := map[string]string{
		"lib/my_fn/__init__.py": "", "lib/my_fn/data/a.json": "", "lib/my_fn/tests/__init__.py": "", "lib/my_fn/tests/x.py": "", "lib/other/__init__.py": "",
		"lib/my_fn.egg-info/PKG-INFO": "", "setup.md": "",
	}
	cases := map[string]struct {
		reason, text string
		files        map[string]string
		want         []string
	}{
		"HatchGitignore":   {"hatchling leaves out what git ignores", hatch, ignored("# logs\n*.log  \n\n/my_fn/gen/\n"), []string{"my_fn/main.py"}},
		"HatchNegated":     {"a later pattern includes files again", hatch, ignored("*.log\n!a.log\ngen\n"), []string{"my_fn/a.log", "my_fn/main.py"}},
		"HatchArtifacts":   {"artifacts are included although git ignores them", hatch + "artifacts = [\"*.log\"]\n", ignored("*.log\ngen\n"), []string{"my_fn/a.log", "my_fn/main.py"}},
		"HatchIgnoreVCS":   {"ignore-vcs turns the patterns of git off", hatch + "ignore-vcs = true\n", ignored("*.log\n"), []string{"my_fn/a.log", "my_fn/gen/b.py", "my_fn/main.py"}},
		"HatchExclude":     {"the patterns for wheels replace the patterns for all builds", hatch + "exclude = [\"gen\"]\n[tool.hatch.build.targets.wheel]\nexclude = [\"*.log\"]\n", ignored(""), []string{"my_fn/gen/b.py", "my_fn/main.py"}},
		"HatchAll":         {"patterns that exclude the project do not apply", hatch, ignored("*\n"), []string{"my_fn/a.log", "my_fn/gen/b.py", "my_fn/main.py"}},
		"HatchPackages":    {"packages may be set for all builds", hatch + "packages = [\"src/other\"]\n", map[string]string{"src/other/a.py": "", "my_fn/main.py": ""}, []string{"other/a.py"}},
		"Find":             {"all packages in a folder are found", setuptools + "where = [\"lib\"]\n", packages, []string{"my_fn/__init__.py", "my_fn/data/a.json", "my_fn/tests/__init__.py", "my_fn/tests/x.py", "other/__init__.py"}},
		"FindExclude":      {"a pattern excludes packages and their sub-packages", setuptools + "where = [\"lib\"]\nexclude = [\"*.tests\", \"other*\"]\n", packages, []string{"my_fn/__init__.py", "my_fn/data/a.json"}},
		"FindInclude":      {"only packages that match are included", setuptools + "where = [\"lib\"]\ninclude = [\"my_f?\"]\n", packages, []string{"my_fn/__init__.py"}},
		"FindNoNamespaces": {"folders without __init__.py are data of their package", setuptools + "where = [\"lib\"]\nexclude = [\"*tests\"]\nnamespaces = false\n", packages, []string{"my_fn/__init__.py", "my_fn/data/a.json", "other/__init__.py"}},
		"FindHere":         {"packages are found in the project by default", setuptools + "include = [\"my_fn*\"]\n", map[string]string{"my_fn/sub/a.py": "", "docs/b.py": ""}, []string{"my_fn/sub/a.py"}},
		"SetuptoolsSource": {"setuptools finds all packages and modules in src", head + "version = \"1\"\n", map[string]string{"src/other/a.py": "", "src/one.py": "", "my_fn/b.py": ""}, []string{"one.py", "other/a.py"}},
		"SetuptoolsNames":  {"a package may be in a namespace, or in another folder", head + "version = \"1\"\n[tool.setuptools]\npackages = [\"my_fn\", \"my_fn.a.b\", \"acme.x\", \"c.d\"]\npackage-dir = { \"\" = \"lib\", c = \"other\" }\n", map[string]string{"lib/my_fn/a/b/m.py": "", "lib/acme/x/m.py": "", "lib/acme/y/m.py": "", "other/d/m.py": ""}, []string{"acme/x/m.py", "c/d/m.py", "my_fn/a/b/m.py"}},
		"HatchInclude":     {"patterns select files of the whole project", hatch + "include = [\"my_fn/*.py\", \"/.data/\"]\n", map[string]string{"my_fn/main.py": "", "my_fn/a.log": "", ".data/a.json": "", "tests/b.py": ""}, []string{".data/a.json", "my_fn/main.py"}},
		"HatchSources":     {"sources lose their folder, or get another one", hatch + "only-include = [\"src/my_fn\", \"data\"]\nsources = { src = \"\", data = \"my_fn/data\" }\n", map[string]string{"src/my_fn/main.py": "", "src/b.py": "", "data/a.json": ""}, []string{"my_fn/data/a.json", "my_fn/main.py"}},
		"HatchSourcesList": {"a list of sources has folders that are lost", hatch + "include = [\"src/**/*.py\"]\nsources = [\"src\"]\n", map[string]string{"src/my_fn/main.py": "", "src/my_fn/a.log": ""}, []string{"my_fn/main.py"}},
		"HatchForce":       {"forced files are included although git ignores them", hatch + "[tool.hatch.build.force-include]\n\"gen\" = \"/my_fn/gen\"\n\"a.json\" = \"my_fn/b.json\"\n", map[string]string{".gitignore": "gen\n", "my_fn/main.py": "", "gen/c.json": "", "a.json": ""}, []string{"my_fn/b.json", "my_fn/gen/c.json", "my_fn/main.py"}},
		"HatchNamespace":   {"the package may be in a namespace", hatch, map[string]string{"acme/my_fn/__init__.py": "", "acme/b.py": ""}, []string{"acme/b.py", "acme/my_fn/__init__.py"}},
		"PoetryFiles": {
			"poetry leaves out what git ignores or the project excludes, and adds what it includes", head + "version = \"1\"\n[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry]\npackages = [{ include = \"my_fn\" }, { include = \"tests\", format = \"sdist\" }, { include = \"x\", to = \"my_fn\" }]\n" +
				"include = [\"README\", { path = \"my_fn/*.json\", format = [\"sdist\", \"wheel\"] }]\nexclude = [\"my_fn/gen\"]\n",
			map[string]string{".gitignore": "*.log\n*.json\n", "README": "", "my_fn/main.py": "", "my_fn/a.log": "", "my_fn/b.json": "", "my_fn/gen/c.py": "", "tests/d.py": "", "x/e.py": ""},
			[]string{"my_fn/b.json", "my_fn/main.py", "my_fn/x/e.py"},
		},
		"UVExclude":        {"patterns of uv_build apply in all folders", head + "version = \"1\"\n[build-system]\nbuild-backend = \"uv_build\"\n[tool.uv.build-backend]\nmodule-name = [\"my_fn\", \"other.x\"]\nsource-exclude = [\"gen/a.py\"]\nwheel-exclude = [\"/src/my_fn/b.py\"]\n", map[string]string{"src/my_fn/b.py": "", "src/my_fn/c.py": "", "src/my_fn/gen/a.py": "", "src/other/x/b.py": ""}, []string{"my_fn/c.py", "other/x/b.py"}},
		"CachesAreLeftOut": {"caches are not part of a package", hatch, map[string]string{"my_fn/main.py": "", "my_fn/.mypy_cache/a.json": "", "my_fn/__pycache__/main.pyc": "", "my_fn/b.pyo": ""}, []string{"my_fn/main.py"}},
		"UVIgnoresNone":    {"patterns of git are for hatchling only", head + "version = \"1\"\n[build-system]\nbuild-backend = \"uv_build\"\n[tool.uv.build-backend]\nmodule-root = \"\"\n", ignored("*.log\n"), []string{"my_fn/a.log", "my_fn/gen/b.py", "my_fn/main.py"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := e2e.Must(installed(t, t.TempDir(), tc.text, tc.files))(t)
			files = slices.DeleteFunc(files, func(name string) bool {
				return strings.HasPrefix(name, "bin/") || strings.Contains(name, ".dist-info/")
			})
			e2e.Equal(t, tc.reason, tc.want, files)
		})
	}
}

// The .gitignore of a git repository applies to the projects in its folders. A file above a
// folder that is not in a repository does not.
func TestGitignoreAbove(t *testing.T) {
	const hatch = head + "version = \"1\"\n[build-system]\nbuild-backend = \"hatchling.build\"\n"
	for name, tc := range map[string]struct {
		reason, patterns string
		repository, want bool
	}{
		"Repository": {"the file is in the repository of the project", "*.log\n", true, true},
		"Folder":     {"another clone does not have the file", "*.log\n", false, false},
		"Excluded":   {"the project is excluded itself", "*.log\nfunctions\n", true, false},
		"Clone":      {"a pattern has the name of a folder above the repository", "*.log\nclone\n", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			top := filepath.Join(t.TempDir(), "clone")
			e2e.WriteFiles(t, top, map[string]string{".gitignore": tc.patterns})
			if tc.repository {
				e2e.NoError(t, os.Mkdir(filepath.Join(top, ".git"), 0o755))
			}
			files := e2e.Must(installed(t, filepath.Join(top, "functions", "fn"), hatch, map[string]string{"my_fn/main.py": "", "my_fn/a.log": ""}))(t)
			e2e.Equal(t, tc.reason+": a.log is left out", tc.want, !slices.Contains(files, "my_fn/a.log"))
		})
	}
}
