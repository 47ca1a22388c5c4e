package python_test

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// warningsOf builds a function with these files for all platforms, and returns the warnings. Names that
// begin with "wheel/" and "base/" are files of a locked wheel and of the base images.
func warningsOf(t *testing.T, files map[string]string, env ...string) []string {
	t.Helper()
	pyproject := strings.Replace(manifest, `"grpcio>=1.73.1", "click==8.4.1"`, `"demo"`, 1)
	dir, wheel, below := source(t, pyproject), map[string]string{}, map[string][]byte{}
	own := map[string]string{"function/__init__.py": ""}
	for name, text := range files {
		if in, ok := strings.CutPrefix(name, "wheel/"); ok {
			wheel[in] = text
		} else if in, ok := strings.CutPrefix(name, "base/"); ok {
			below[in] = []byte(text)
		} else {
			own[name] = text
		}
	}
	wheels := []wheelFile{newWheel(t, "demo", "1.0", "py3-none-any", wheel)}
	own["requirements.txt"] = pinned(wheels)
	e2e.WriteFiles(t, dir, own)
	images := imagesOf(t, v1.Config{Env: env}, below)
	src := language.Source{Dir: dir, Platforms: platforms, Base: images, Artifacts: language.Artifacts{Dir: t.TempDir(), Index: serve(t, false, "", wheels...).URL + "/simple"}}
	var got []string
	built := e2e.Must(python.Build(t.Context(), src, runtimeimage.Options{TempDir: t.TempDir(), Progress: func(e progress.Event) {
		if e.Kind == progress.Warning {
			got = append(got, strings.TrimPrefix(e.Text, dir+"/"))
		}
	}}))(t)
	e2e.NoError(t, built.Images.Close())
	return got
}

func TestMissingModules(t *testing.T) {
	const text = ` is in no package that the lock file installs, nor in the source or the base image; add the package of `
	for _, tc := range []struct {
		reason string
		files  map[string]string
		want   []string
	}{
		{"the entry point imports a module", map[string]string{"function/main.py": "# first\nimport requests\n"}, []string{"function/main.py:2: requests"}},
		{"a module of the function imports others, each of which is reported once", map[string]string{
			"function/main.py": "\"\"\"A docstring.\nimport text\n\"\"\"\nimport os, requests.adapters as a\nfrom function import fn\n",
			"function/fn.py":   "from . import (  # )\n    more,\n)\nfrom boto3 import (client)\nfrom requests import get; import later\n", "function/more.py": "from yaml import *",
		}, []string{"function/main.py:4: requests", "function/fn.py:4: boto3", "function/more.py:1: yaml"}},
		{"a package imports its modules by relative names", map[string]string{
			"function/main.py": "from .a.b import c\n", "function/a/__init__.py": "", "function/a/b.py": "from .. import d\nfrom ..e import x\n", "function/d.py": "import one\n", "function/e.py": "import two\n",
		}, []string{"function/d.py:1: one", "function/e.py:1: two"}},
		{"the file of a package runs before its modules", map[string]string{"function/__init__.py": "import requests\n"}, []string{"function/__init__.py:1: requests"}},
		{"the base image may have only the standard library", map[string]string{
			"function/main.py": "import requests\n", "base/usr/lib/python3.13/json/__init__.py": "", "base/usr/lib/python3.13/lib-dynload/_ssl.so": "",
		}, []string{"function/main.py:1: requests"}},
		{"known files with the ending .pth add no modules", map[string]string{
			"function/main.py": "import requests\n", "wheel/distutils-precedence.pth": "", "wheel/a-nspkg.pth": "",
		}, []string{"function/main.py:1: requests"}},
	} {
		var want []string
		for _, w := range tc.want {
			at, module, _ := strings.Cut(w, ": ")
			want = append(want, at+": module \""+module+"\""+text+module+" to dependencies in pyproject.toml, and lock again")
		}
		e2e.Equal(t, tc.reason, want, warningsOf(t, tc.files))
	}
}

// TestImportsWithoutWarning has functions that may find all modules that they import.
func TestImportsWithoutWarning(t *testing.T) {
	var none []string
	for reason, main := range map[string]string{
		"modules of the standard library, of any system and version": "from __future__ import annotations\nimport asyncio, tomllib, winreg, distutils, annotationlib, _ssl, sys\nimport os.path as p, concurrent.futures\nfrom xml.etree import ElementTree\n",
		"a module that may be missing":                               "try:\n    import a\nexcept ImportError:\n    a = None\ntry: import b\nexcept: pass\n",
		"modules for some versions":                                  "import sys\nif sys.version_info < (3, 11):\n    import tomli as tomllib\nelse:\n    import tomllib\n",
		"modules for types":                                          "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mypy_boto3 import client\nif TYPE_CHECKING: import a\n",
		"modules that a function imports":                            "def cli():\n    import a\n    from b import c\nclass A:\n    import d\n",
		"modules that other statements import":                       "from contextlib import suppress\nwith suppress(ImportError):\n    import a\nx = '''\nimport b\n'''\n# import c\nimport_d = 1\n",
		"a program that changes the path":                            "import sys\nsys.path += ['/opt/lib']\nimport a\n",
		"a program that changes the path under another name":         "import sys as s\ns.path.append('/opt/lib')\nimport a\n",
		"a program that imports the path":                            "from sys import path as p\np += ['/opt/lib']\nimport a\n",
		"modules that are imported when they are used":               "__lazy_modules__ = ['a']\nimport a\nlazy import b\n",
		"names that are equal only in a normal form of Unicode":      "import aﬁle, b\nfrom é import b\n",
		"an encoding that is not read":                               "# coding: latin-1\nimport a\n",
		"names of Python in other statements":                        "from_ = importa = 1\nmatch = from_\n",
	} {
		e2e.Equal(t, reason, none, warningsOf(t, map[string]string{"function/main.py": main}))
	}
	e2e.Equal(t, "the source of another project, whose files are elsewhere", none, warningsOf(t, map[string]string{
		"pyproject.toml": strings.Replace(manifest, `"grpcio>=1.73.1", "click==8.4.1"`, `"demo", "models @ file:models"`, 1), "function/main.py": "import models\n",
		"models/pyproject.toml": "[build-system]\nbuild-backend = \"flit_core.buildapi\"\n[project]\nname = \"models\"\nversion = \"1\"\n", "models/models/__init__.py": "import a\n",
	}))
	const main = "import a, b.c\nfrom d.e import f\n"
	for _, tc := range []struct {
		reason string
		files  map[string]string
		env    []string
	}{
		{"wheels have modules, packages, namespaces and compiled modules", map[string]string{"wheel/a.py": "", "wheel/b/c.cpython-313-x86_64-linux-gnu.so": "", "wheel/d.abi3.so": ""}, nil},
		{"wheels can install modules beside programs", map[string]string{"wheel/demo-1.0.data/purelib/a.py": "", "wheel/demo-1.0.data/scripts/b.py": "", "wheel/demo-1.0.data/data/d/e.py": ""}, nil},
		{"base images have packages in folders of Debian and of Python", map[string]string{"base/usr/lib/python3/dist-packages/a.py": "", "base/usr/local/lib/python3.13/site-packages/b/c.py": "", "base/opt/python/lib/python3.13/d/__init__.py": ""}, nil},
		{"a wheel can add folders by a file with the ending .pth", map[string]string{"wheel/demo.pth": "/opt/lib\n"}, nil},
		{"a wheel can run code by a file with the ending .start", map[string]string{"wheel/demo.start": "demo:main\n"}, nil},
		{"a wheel can run code at the start of Python", map[string]string{"wheel/sitecustomize.py": ""}, nil},
		{"a base image can run code at the start of Python", map[string]string{"base/usr/lib/python3.13/sitecustomize.py": ""}, nil},
		{"a base image can add folders by a variable", nil, []string{"PYTHONPATH=/opt/lib"}},
	} {
		files := map[string]string{"function/main.py": main}
		maps.Copy(files, tc.files)
		e2e.Equal(t, tc.reason, none, warningsOf(t, files, tc.env...))
	}
	for reason, name := range map[string]string{"a module that nothing imports": "function/tool.py", "a test": "function/tests/test_fn.py"} {
		e2e.Equal(t, reason, none, warningsOf(t, map[string]string{"function/main.py": "import function.fn\n", "function/fn.py": "def f():\n    from . import tool\n", name: "import pytest\n"}))
	}
}

// TestBaseOfOlderCache checks that a build replaces the description of a base image in the cache that has
// no modules.
func TestBaseOfOlderCache(t *testing.T) {
	wheels, dir, cache := template(t), source(t, manifest), t.TempDir()
	e2e.WriteFiles(t, dir, map[string]string{"requirements.txt": pinned(wheels)})
	url := serve(t, false, "", wheels...).URL + "/simple"
	for range 2 {
		e2e.NoError(t, e2e.Must(build(t, dir, language.Artifacts{Dir: cache, Index: url}))(t).Images.Close())
		files := e2e.Must(filepath.Glob(filepath.Join(cache, "python", "bases", "*")))(t)
		e2e.Equal(t, "each base image is in the cache once", len(platforms), len(files))
		for _, file := range files {
			before, _, ok := strings.Cut(e2e.ReadFile(t, file), `,"Modules":{}`)
			e2e.Equal(t, "the description has the modules", true, ok)
			e2e.WriteFile(t, file, before+"}")
		}
	}
}

func TestHintMissing(t *testing.T) {
	dir := source(t, manifest)
	for _, tc := range []struct{ reason, output, want string }{
		{"a module of a package is missing", "Traceback:\n  ModuleNotFoundError: No module named 'requests.adapters'", "add the package of requests.adapters to dependencies in pyproject.toml, and lock again"},
		{"the function lacks a module of its own", "ModuleNotFoundError: No module named 'function.none'", ""},
		{"another error has no hint", "ImportError: cannot import name 'a' from 'b'", ""},
	} {
		err := errors.New(tc.output)
		e2e.Equal(t, tc.reason, tc.want, string(hint.Of(python.HintMissing(err, dir))))
	}
	e2e.NoError(t, python.HintMissing(nil, dir))
}
