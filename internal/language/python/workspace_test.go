package python_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A function can be a member of a workspace, whose uv.lock is in a folder above it. A build
// installs the members that it needs, and xfn dev watches their folders.
func TestWorkspace(t *testing.T) {
	wheels := template(t)
	top := t.TempDir()
	e2e.NoError(t, os.WriteFile(filepath.Join(top, wheels[0].name), wheels[0].data, 0o600))
	member := func(name string) string {
		return "[build-system]\nbuild-backend = \"uv_build\"\n[project]\nname = \"" + name + "\"\nversion = \"1\"\n"
	}
	e2e.WriteFiles(t, top, map[string]string{
		".git": "", "libs/models/pyproject.toml": member("models"), "libs/models/src/models/a.py": "", "libs/unused/pyproject.toml": member("unused"),
		"functions/fn/pyproject.toml":       member("function") + "dependencies = [\"models\"]\n[project.scripts]\nfunction = \"function:cli\"\n",
		"functions/fn/src/function/main.py": "",
		"uv.lock": "version = 1\n[[package]]\nname='function'\nsource={editable='functions/fn'}\ndependencies=[{name='models'}]\n" +
			"[[package]]\nname='models'\nsource={editable='libs/models'}\ndependencies=[{name='click'}]\n[[package]]\nname='unused'\nsource={editable='libs/unused'}\n" +
			"[[package]]\nname='click'\nversion='8.4.1'\nsource={path='" + wheels[0].name + "'}\nwheels=[{filename='" + wheels[0].name + "', hash='sha256:" + wheels[0].sum() + "'}]\n",
	})
	dir := filepath.Join(top, "functions", "fn")
	root := e2e.Must(language.Root(dir))(t)
	built := e2e.Must(python.Build(t.Context(), language.Source{Dir: dir, Root: root, Platforms: platforms[:1], Base: base(t), Artifacts: language.Artifacts{Dir: t.TempDir(), Index: "https://index.example.org/simple", Offline: true}}, runtimeimage.Options{TempDir: t.TempDir()}))(t)
	defer built.Images.Close()
	layers := e2e.Must(built.Images.All[0].Layers())(t)
	const site = "fn_x86_64/lib/python3.13/site-packages/"
	packages, own := entries(t, layers[1]), entries(t, layers[2])
	for name, files := range map[string]map[string]string{"click/__init__.py": packages, "models/a.py": own, "function/main.py": own} {
		if _, ok := files[site+name]; !ok {
			t.Errorf("the image has no file %s", name)
		}
	}
	watched, err := python.Language().Watch(dir)
	if diff := cmp.Diff([]string{dir, filepath.Join(top, "uv.lock"), filepath.Join(top, "libs", "models")}, watched); err != nil || diff != "" {
		t.Errorf("watched folders (-want +got):\n%s%v", diff, err)
	}
}
