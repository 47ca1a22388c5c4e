package typescript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/typescript"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// bundled is a function with packages that are nested, linked, scoped and in CommonJS.
func bundled(t testing.TB) *function {
	f := newFunction(t, map[string]string{
		"tsconfig.json":               "{\n// comments are allowed\n\"compilerOptions\": {\"verbatimModuleSyntax\": true}}",
		"src/main.ts":                 "import { a } from \"a\";\nimport type { T } from \"./types.js\";\nimport { b } from \"@s/b/sub\";\nimport { lib } from \"lib\";\nexport const all: T = [a, b, lib];\n",
		"src/types.ts":                "export type T = string[];\n",
		"packages/lib/package.json":   `{"name": "lib", "exports": "./lib.ts"}`,
		"packages/lib/lib.ts":         "export const lib: string = \"the workspace\";\n",
		"node_modules/a/index.js":     "throw new Error(\"node_modules of the project\");\n",
		"node_modules/a/package.json": `{"main": "index.js"}`,
	})
	f.add(t, "node_modules/a", "1.0.0", map[string]string{"index.js": "exports.a = require(\"c\") + __dirname;\n"}, object{"dependencies": object{"c": "1"}, "hasInstallScript": true})
	f.add(t, "node_modules/a/node_modules/c", "1.0.0", map[string]string{"index.js": "module.exports = \"c of a\";\n"}, nil)
	f.add(t, "node_modules/c", "2.0.0", map[string]string{"index.js": "module.exports = \"c\";\n"}, nil)
	f.add(t, "node_modules/@s/b", "3.0.0", map[string]string{
		"package.json": `{"name": "@s/b", "type": "module", "exports": {"./sub": {"import": "./b.js"}}}`, "b.js": "export const b = \"b\";\n",
	}, nil)
	f.lock["node_modules/lib"] = object{"link": true, "resolved": "packages/lib"}
	f.lock["packages/lib"] = object{}
	return f
}

// TestNodeInPath builds for a base image that has Node.js in PATH, and no entry point.
func TestNodeInPath(t *testing.T) {
	f := bundled(t)
	src := f.source(t)
	layer := e2e.Must(remotetest.Layer(map[string][]byte{"usr/bin/node": nil}))(t)
	for i, p := range src.Platforms {
		src.Base.All[i] = remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layer), p, v1.Config{})
	}
	c := e2e.Must(f.mustBuild(t, src).Images.All[0].ConfigFile())(t)
	e2e.Equal(t, "the entry point is node", "node --enable-source-maps dist/main.mjs", strings.Join(c.Config.Entrypoint, " "))
}

func TestBuild(t *testing.T) {
	f := bundled(t)
	r := f.mustBuild(t, f.source(t))
	if len(r.Images.All) != 2 {
		t.Fatalf("got %d images", len(r.Images.All))
	}
	for i, want := range []v1.Platform{amd64, arm64} {
		c := e2e.Must(r.Images.All[i].ConfigFile())(t)
		config := v1.Config{
			Entrypoint: []string{"/nodejs/bin/node", "--enable-source-maps", "dist/main.mjs"}, WorkingDir: "/function", User: "65532",
			ExposedPorts: map[string]struct{}{"9443/tcp": {}}, Labels: map[string]string{"a": "b"},
		}
		if diff := cmp.Diff(config, c.Config); diff != "" || !c.Platform().Equals(want) {
			t.Errorf("config of %s (-want +got):\n%s", c.Platform(), diff)
		}
	}
	layers := contents(t, r.Images.All[0])
	if diff := cmp.Diff([]string{"function/dist/main.mjs", "function/dist/main.mjs.map"}, names(layers[0])); diff != "" || len(layers) != 1 {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	code := layers[0]["function/dist/main.mjs"]
	for _, want := range []string{"c of a", "the workspace", "createRequire", `"b"`, "sourceMappingURL=main.mjs.map"} {
		e2e.Has(t, "the bundle has the code of all modules and the name of its source map", code, want)
	}
	for _, text := range []string{code, layers[0]["function/dist/main.mjs.map"]} {
		if strings.Contains(text, f.dir) || strings.Contains(text, os.TempDir()) || strings.Contains(text, "node_modules of the project") {
			t.Errorf("the bundle depends on this machine:\n%s", text)
		}
	}
	var sources struct{ Sources []string }
	if err := json.Unmarshal([]byte(layers[0]["function/dist/main.mjs.map"]), &sources); err != nil || !slices.Contains(sources.Sources, "../src/main.ts") {
		t.Errorf("got the sources %q, %v", sources.Sources, err)
	}
	var materials []string
	for _, m := range r.Materials {
		if m.Name == "base image" {
			continue
		}
		if !strings.HasPrefix(m.Digest, "sha512:") || m.Name == "" || m.Version == "" {
			t.Errorf("got %+v", m)
		}
		materials = append(materials, m.PURL)
	}
	e2e.Equal(t, "packages in the bundle are materials", []string{"pkg:npm/%40s/b@3.0.0", "pkg:npm/a@1.0.0", "pkg:npm/c@1.0.0"}, materials)
	e2e.Equal(t, "the build says that types are not checked and install scripts do not run", []string{typesNote, "install scripts of packages are not run: a@1.0.0"}, f.messages)
}

// The images depend neither on the folder, nor on modes and times, nor on the cache.
func TestBuildIsRepeatable(t *testing.T) {
	for _, plain := range []bool{false, true} {
		var digests [2]v1.Hash
		for i := range digests {
			f := bundled(t)
			f.write(t, "dist/main.js", "")
			if i == 1 {
				if err := os.Chmod(filepath.Join(f.dir, "package.json"), 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				e2e.NoError(t, os.Chtimes(filepath.Join(f.dir, "src/main.ts"), time.Unix(1, 0), time.Unix(1, 0)))
			}
			src := f.source(t)
			src.NoBundle = plain
			digests[i] = digestOf(t, f.mustBuild(t, src).Images.All[0])
		}
		e2e.Equal(t, "the digest of a second build", digests[1], digests[0])
	}
}

// Packages with compiled code stay in node_modules, with all that they need. The layer
// differs only where platforms have different packages.
func TestBuildNative(t *testing.T) {
	f := newFunction(t, map[string]string{"src/main.ts": "import sharp from \"sharp\";\nimport pure from \"pure\";\nimport \"punycode\";\nimport \"lacking\";\nconsole.log(sharp, pure);\n"})
	f.add(t, "node_modules/sharp", "1.0.0", map[string]string{"index.js": "module.exports = require(\"@sharp/\" + process.arch);\n"},
		object{"dependencies": object{"tool": "1"}, "optionalDependencies": object{"@sharp/x64": "1", "@sharp/arm64": "1"}})
	f.add(t, "node_modules/@sharp/x64", "1.0.0", map[string]string{"x.node": "x64"}, object{"optional": true, "cpu": []string{"x64"}})
	f.add(t, "node_modules/@sharp/arm64", "1.0.0", map[string]string{"x.node": "arm64"}, object{"optional": true, "cpu": []string{"arm64"}})
	f.add(t, "node_modules/tool", "1.0.0", map[string]string{"index.js": ""}, nil)
	f.add(t, "node_modules/pure", "1.0.0", map[string]string{"index.js": "module.exports = 1;\n"}, nil)
	f.add(t, "node_modules/punycode", "1.0.0", map[string]string{"index.js": ""}, nil)
	f.add(t, "node_modules/lacking", "1.0.0", map[string]string{"index.js": "console.log(1);\n"}, object{"optionalDependencies": object{"@lacking/linux": "1", "@lacking/darwin": "1"}})
	f.add(t, "node_modules/@lacking/darwin", "1.0.0", map[string]string{"x.node": ""}, object{"optional": true, "os": []string{"darwin"}})
	r := f.mustBuild(t, f.source(t))
	e2e.Has(t, "missing optional packages are reported", strings.Join(f.messages, "\n"), "lacks optional packages, which may be for Linux: @lacking/linux;")
	for i, cpu := range []string{"x64", "arm64"} {
		layers := contents(t, r.Images.All[i])
		want := []string{
			"function/node_modules/@sharp/" + cpu + "/package.json", "function/node_modules/@sharp/" + cpu + "/x.node",
			"function/node_modules/sharp/index.js", "function/node_modules/sharp/package.json",
			"function/node_modules/tool/index.js", "function/node_modules/tool/package.json",
		}
		e2e.Equal(t, cpu+": the layer has only packages of the platform", want, names(layers[0]))
		if code := layers[1]["function/dist/main.mjs"]; !strings.Contains(code, `from "sharp"`) || strings.Contains(code, `from "pure"`) {
			t.Errorf("%s: got\n%s", cpu, code)
		}
	}
}

// Without a bundle, the packages of all platforms are one layer if they are the same.
// Optional packages for another libc than the base image's are left out.
func TestBuildLibc(t *testing.T) {
	f := newFunction(t, map[string]string{"src/main.ts": "import sharp from \"sharp\";\nconsole.log(sharp);\n"})
	f.add(t, "node_modules/sharp", "1.0.0", map[string]string{"index.js": "module.exports = 1;\n"}, object{"optionalDependencies": object{"@sharp/glibc": "1", "@sharp/musl": "1"}})
	for _, libc := range []string{"glibc", "musl"} {
		f.add(t, "node_modules/@sharp/"+libc, "1.0.0", map[string]string{"x.node": libc}, object{"optional": true, "libc": []string{libc}})
	}
	for file, want := range map[string]string{"lib/x86_64-linux-gnu/libc.so.6": "glibc", "lib/ld-musl-x86_64.so.1": "musl", "bin/static": "glibc"} {
		layer := e2e.Must(remotetest.Layer(map[string][]byte{"etc/passwd": nil, file: nil}))(t)
		src := f.source(t)
		for i, img := range src.Base.All {
			src.Base.All[i] = e2e.Must(mutate.AppendLayers(img, layer))(t)
		}
		r := f.mustBuild(t, src)
		layers := contents(t, r.Images.All[0])
		got := slices.DeleteFunc(names(layers[len(layers)-2]), func(name string) bool { return !strings.HasSuffix(name, ".node") })
		e2e.Equal(t, "base image with "+file, []string{"function/node_modules/@sharp/" + want + "/x.node"}, got)
	}
}

func TestBuildWithoutBundle(t *testing.T) {
	f := bundled(t)
	f.write(t, "dist/main.js", "console.log(1);\n")
	src := f.source(t)
	src.NoBundle = true
	r := f.mustBuild(t, src)
	layers := contents(t, r.Images.All[0])
	want := []string{
		"function/node_modules/@s/b/b.js", "function/node_modules/@s/b/package.json", "function/node_modules/a/index.js",
		"function/node_modules/a/node_modules/c/index.js", "function/node_modules/a/node_modules/c/package.json", "function/node_modules/a/package.json",
		"function/node_modules/c/index.js", "function/node_modules/c/package.json", "function/node_modules/lib",
		"function/packages/lib/lib.ts", "function/packages/lib/package.json",
	}
	e2e.Equal(t, "without a bundle, the layer has all packages and the workspace", want, names(layers[0]))
	e2e.Equal(t, "the package of the workspace is a link", "../packages/lib", layers[0]["function/node_modules/lib"])
	e2e.Equal(t, "the source is a layer of its own", []string{"function/dist/main.js", "function/package.json"}, names(layers[1]))
	var both [2]*v1.Manifest
	for i := range both {
		both[i] = e2e.Must(r.Images.All[i].Manifest())(t)
	}
	e2e.Equal(t, "images of all platforms share the layers if packages have no compiled code", both[0].Layers, both[1].Layers)
	e2e.Equal(t, "the materials are the packages and the base images", 4+len(src.Base.All), len(r.Materials))
}

// A function can be a workspace: the lock file is in a folder above it, and the files of the
// project around it can be imported.
func TestBuildWorkspace(t *testing.T) {
	f := newFunction(t, map[string]string{
		"functions/f/package.json": `{"name": "f", "dependencies": {"a": "1", "b": "1"}}`,
		"functions/f/src/main.ts":  "import a from \"a\";\nimport b from \"b\";\nimport { shared } from \"../../../shared/index.ts\";\nconsole.log(a, b, shared);\n",
		"shared/index.ts":          "export const shared = \"the folder beside\";\n",
	})
	f.add(t, "node_modules/a", "2.0.0", map[string]string{"index.js": "module.exports = \"wrong\";\n"}, nil)
	f.add(t, "functions/f/node_modules/a", "1.0.0", map[string]string{"index.js": "module.exports = \"own\";\n"}, object{"optional": true})
	f.add(t, "node_modules/b", "1.0.0", map[string]string{"index.js": "module.exports = \"hoisted\";\n", "b.node": ""}, nil)
	f.lock["functions/f"] = object{"name": "f"}
	f.lock["node_modules/f"] = object{"link": true, "resolved": "functions/f"}
	f.lock["shared"], f.lock["node_modules/shared"] = object{}, object{"link": true, "resolved": "shared"}
	f.write(t, ".git", "")
	src := f.source(t)
	src.Dir, src.Root = filepath.Join(f.dir, "functions/f"), f.dir
	img := f.mustBuild(t, src).Images.All[0]
	layers := contents(t, img)
	code := layers[1]["function/functions/f/dist/main.mjs"]
	if !strings.Contains(code, "own") || !strings.Contains(code, "the folder beside") || strings.Contains(code, "wrong") || !strings.Contains(code, `from "b"`) {
		t.Errorf("got %q\n%s", names(layers[1]), code)
	}
	e2e.Equal(t, "only the package with compiled code stays in node_modules", []string{"function/node_modules/b/b.node", "function/node_modules/b/index.js", "function/node_modules/b/package.json"}, names(layers[0]))
	c := e2e.Must(img.ConfigFile())(t)
	e2e.Equal(t, "the working directory is the folder of the function", "/function/functions/f", c.Config.WorkingDir)
	watched, err := typescript.Language().Watch(src.Dir)
	want := []string{"functions/f/package.json", "package-lock.json", "shared", "functions/f/src"}
	for i := range watched {
		watched[i] = strings.TrimPrefix(watched[i], f.dir+"/")
	}
	if diff := cmp.Diff(want, watched); err != nil || diff != "" {
		t.Errorf("watched (-want +got):\n%s%v", diff, err)
	}
}

func TestBuildStops(t *testing.T) {
	f := bundled(t)
	f.save(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opts := f.options(t)
	e2e.ErrorIs(t, "Build returns the cause of its context", e2e.Err(typescript.Build(ctx, f.source(t), opts)), context.Canceled)
}

func TestBuildRefuses(t *testing.T) {
	now := time.Now()
	cases := map[string]struct {
		reason     string
		change     func(t *testing.T, f *function, src *language.Source)
		want, hint string
	}{
		"NoLock": {"a lock file is required", func(t *testing.T, f *function, _ *language.Source) {
			remove(t, f, "package-lock.json")
		}, `reading "package-lock.json"`, "npm install"},
		"Yarn": {"lock files of other tools are an error", func(t *testing.T, f *function, _ *language.Source) {
			remove(t, f, "package-lock.json")
			f.write(t, "yarn.lock", "")
		}, `got only "yarn.lock" of yarn`, "run npm install, and commit"},
		"Pnpm": {"the error for pnpm names the way out", func(t *testing.T, f *function, _ *language.Source) {
			remove(t, f, "package-lock.json")
			f.write(t, "pnpm-lock.yaml", "")
		}, `got only "pnpm-lock.yaml" of pnpm`, "run npm install, and commit package-lock.json"},
		"Contradicts": {"the manifest and the lock file must agree", func(t *testing.T, f *function, _ *language.Source) {
			f.manifest["dependencies"].(object)["a"] = "^2"
			f.save(t)
		}, `asks for a "^2", but package-lock.json has version 1.0.0`, "npm install"},
		"NoEntry": {"a file in which the function starts is required", func(t *testing.T, f *function, _ *language.Source) {
			remove(t, f, "src/main.ts")
		}, `no file in which the function starts, such as "src/main.ts"`, "main"},
		"Syntax": {"errors of the compiler have a place", func(t *testing.T, f *function, _ *language.Source) {
			f.write(t, "src/main.ts", "\nconst x: = 1;\n")
		}, "src/main.ts:2:10: ", ""},
		"Unknown": {"a package that is not a dependency is an error", func(t *testing.T, f *function, _ *language.Source) {
			f.write(t, "src/main.ts", "import \"@s/gone/x\";\n")
		}, `src/main.ts:1:8: Could not resolve "@s/gone/x"`, "npm install @s/gone"},
		"NoExport": {"a name that a package does not export is an error", func(t *testing.T, f *function, _ *language.Source) {
			f.write(t, "src/main.ts", "import { gone } from \"@s/b/sub\";\nconsole.log(gone);\n")
		}, `src/main.ts:1:10: No matching export in "node_modules/@s/b/b.js" for import "gone"`, ""},
		"Development": {"a development dependency is an error, whatever npm installed", func(t *testing.T, f *function, _ *language.Source) {
			f.manifest["devDependencies"] = object{"tool": "1"}
			f.save(t)
			f.write(t, "node_modules/tool/index.js", "")
			f.write(t, "src/main.ts", "import \"tool\";\n")
		}, `Could not resolve "tool"`, "move tool from devDependencies"},
		"Outside": {"source outside of the project is an error", func(t *testing.T, f *function, _ *language.Source) {
			f.write(t, "src/main.ts", "import \"../../elsewhere.ts\";\n")
		}, "Could not resolve", ""},
		"LinkOutside": {"a link out of the project is an error", func(t *testing.T, f *function, _ *language.Source) {
			other := filepath.Join(t.TempDir(), "other.ts")
			e2e.NoError(t, errors.Join(os.WriteFile(other, []byte("export {};\n"), 0o600), os.Symlink(other, filepath.Join(f.dir, "src/other.ts"))))
			f.write(t, "src/main.ts", "import \"./other.js\";\n")
		}, `the source imports "src/other.ts", which is outside of the project`, ""},
		"Absolute": {"an absolute path is outside of the project", func(t *testing.T, f *function, _ *language.Source) {
			other := filepath.Join(t.TempDir(), "other.json")
			e2e.NoError(t, os.WriteFile(other, []byte("{}"), 0o600))
			f.write(t, "src/main.ts", fmt.Sprintf("import x from %q;\nconsole.log(x);\n", other))
		}, "which is outside of the project", ""},
		"Compile": {"a package that must be compiled is an error", func(t *testing.T, f *function, _ *language.Source) {
			f.add(t, "node_modules/a", "1.0.0", map[string]string{"index.js": "module.exports = 1;", "binding.gyp": "{}"}, object{"hasInstallScript": true})
			f.save(t)
		}, "package a@1.0.0 must be compiled by its install script", "{embed-runtime-dir}"},
		"NoBase": {"a base image is required", func(_ *testing.T, _ *function, src *language.Source) {
			src.Base = nil
		}, "no base image with Node.js", ""},
		"NoNode": {"the program must be in the base image", func(t *testing.T, _ *function, src *language.Source) {
			layer := e2e.Must(remotetest.Layer(map[string][]byte{"node/README": nil}))(t)
			src.Base.All[1] = remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layer), arm64, v1.Config{Entrypoint: []string{"/function"}})
		}, "the base image: it has no program node", "with Node.js"},
		"NoDist": {"without a bundle, tsc must have run", func(_ *testing.T, _ *function, src *language.Source) {
			src.NoBundle = true
		}, `expected the compiled file of "src/main.ts" as "dist/main.js"`, "npx tsc"},
		"OldDist": {"without a bundle, tsc must have run after the last change", func(t *testing.T, f *function, src *language.Source) {
			src.NoBundle = true
			f.write(t, "dist/main.js", "")
			e2e.NoError(t, os.Chtimes(filepath.Join(f.dir, "dist/main.js"), now, now.Add(-time.Hour)))
		}, `"src/main.ts" is newer than its compiled file "dist/main.js"`, "npx tsc"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := bundled(t)
			f.save(t)
			src := f.source(t)
			tc.change(t, f, &src)
			if strings.HasPrefix(tc.want, "src/main.ts:") {
				tc.want = filepath.Join(f.dir, tc.want)
			}
			_, err := f.build(t, src)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), f.dir) || !strings.Contains(string(hint.Of(err)), tc.hint) {
				t.Errorf("%s: got %v with the hint %q, want %q with %q", tc.reason, err, hint.Of(err), tc.want, tc.hint)
			}
		})
	}
}

func remove(t *testing.T, f *function, name string) {
	t.Helper()
	e2e.NoError(t, os.Remove(filepath.Join(f.dir, filepath.FromSlash(name))))
}

// A function can have 15,000 files in its packages, in a bundle and without one. The bundled
// template has 13,000.
func TestBuildManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds 15,000 files")
	}
	const packages, each = 3, 5000
	f := newFunction(t, map[string]string{"src/main.ts": "import \"many0/f42.js\";\n"})
	f.write(t, "dist/main.js", "")
	for i := range packages {
		files := map[string]string{}
		for n := range each {
			files[fmt.Sprintf("f%d.js", n)] = fmt.Sprintf("console.log(%d, %d);\n", i, n)
		}
		f.add(t, fmt.Sprintf("node_modules/many%d", i), "1.0.0", files, nil)
	}
	src := f.source(t)
	r := f.mustBuild(t, src)
	e2e.Has(t, "the bundle has the imported file of the large package", contents(t, r.Images.All[0])[0]["function/dist/main.mjs"], "console.log(0, 42)")
	src.Base, src.NoBundle = f.source(t).Base, true
	r = f.mustBuild(t, src)
	e2e.Equal(t, "without a bundle, the layer has all files", packages*(each+1), len(contents(t, r.Images.All[1])[0]))
}
