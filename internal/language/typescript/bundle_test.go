package typescript_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// forms is a function that imports packages in all forms that can be bundled apart from the source, and
// prints what it gets.
func forms(t testing.TB, more string) *function {
	f := newFunction(t, map[string]string{
		"src/first.ts": "globalThis.order = [\"first\"];\nexport {};\n",
		"src/lib.ts":   "import { count } from \"esm\";\nexport * from \"two\";\nexport { default as again } from \"two\";\nexport const seen = () => count;\n",
		"src/main.ts": `import "./first.js";
import esm, { count, add, fail } from "esm";
import * as all from "esm";
import cjs, { named } from "cjs";
import * as everything from "cjs";
import marked from "marked";
import data from "cjs/package.json" with { type: "json" };
import * as lib from "./lib.js";
import fs, { readFileSync } from "node:fs";
import * as path from "path";
import "effect";
class URL { readonly own = true; }
globalThis.order.push("main");
add();
const os = await import("node:os");
console.log(JSON.stringify({ order: globalThis.order, esm, count, all: Object.keys(all).sort(), live: [all.count, lib.seen()], cjs: typeof cjs, named, everything: Object.keys(everything),
  marked, data, lib: Object.keys(lib).sort(), two: [lib.again, lib.version], builtins: [fs.readFileSync === readFileSync, typeof path.join, typeof os.cpus, typeof require("fs").readFileSync],
  url: new URL().own, meta: import.meta.url === all.url, dirname: typeof __dirname, eager: all.parsed }));
export const exported: string = "x";
export default function compose() {}
try {
  fail();
} catch (err) {
  console.log((err as Error).stack);
}
` + more,
	})
	f.add(t, "node_modules/esm", "1.0.0", map[string]string{
		"package.json": `{"name": "esm", "type": "module", "exports": "./index.js"}`,
		"index.js": `import two, { version } from "two";
import fs from "node:fs";
globalThis.order.push("esm");
export * from "./more.js";
export default "default of esm with " + version + two;
export const url = import.meta.url;
export const parsed = new URL("http://host/a").host + typeof fs.readFileSync;
export let count = 0;
export function add() { count++; }
export function fail() {
  throw new Error("failed");
}
`, "more.js": "export const more = true;\n",
	}, object{"dependencies": object{"two": "1"}})
	f.add(t, "node_modules/esm/node_modules/two", "1.0.0", map[string]string{"package.json": `{"name": "two", "module": "index.mjs", "main": "./index.mjs"}`, "index.mjs": "export default 1;\nexport const version = \"1\";\n"}, nil)
	f.add(t, "node_modules/two", "2.0.0", map[string]string{"package.json": `{"name": "two", "main": "index.mjs"}`, "index.mjs": "globalThis.order.push(\"two\");\nexport default 2;\nexport const version = \"2\";\n"}, nil)
	f.add(t, "node_modules/cjs", "1.0.0", map[string]string{"index.js": "globalThis.order.push(\"cjs\");\nmodule.exports = () => 1;\nmodule.exports.named = require(\"path\").sep;\n"}, nil)
	f.add(t, "node_modules/marked", "1.0.0", map[string]string{"index.js": "exports.__esModule = true;\nexports.default = \"marked\";\n"}, nil)
	f.add(t, "node_modules/effect", "1.0.0", map[string]string{"index.js": "globalThis.order.push(\"effect\");\n"}, nil)
	return f
}

// code returns the bundle of a function, in a folder with its source map.
func code(t testing.TB, f *function) (text, file string) {
	t.Helper()
	layers := contents(t, f.mustBuild(t, f.source(t)).Images.All[0])
	dir := t.TempDir()
	for name, text := range layers[len(layers)-1] {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o600))
	}
	return layers[len(layers)-1]["function/dist/main.mjs"], filepath.Join(dir, "main.mjs")
}

// A bundle that is joined from the packages and the source prints the same as a bundle of
// everything, and its stack traces have the same positions.
func TestBundleIsTheSame(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing")
	}
	for _, kind := range []string{"module", "commonjs"} { // they differ in the default exports of packages
		var printed [2]string
		for i, more := range []string{"", "if (globalThis.never) await import(\"esm\");\n"} {
			f := forms(t, more)
			f.manifest["type"] = kind
			text, file := code(t, f)
			e2e.Equal(t, fmt.Sprintf("%s with %q: only a bundle without dynamic imports is joined from packages", kind, more), more == "", strings.Contains(text, "__xfnPackage"))
			out, err := exec.CommandContext(t.Context(), node, "--enable-source-maps", file).CombinedOutput()
			if err != nil {
				t.Fatalf("%s with %q: %v\n%s", kind, more, err, out)
			}
			text, _, _ = strings.Cut(string(out), "\n    at async ") // the function around the source
			printed[i] = strings.TrimSpace(strings.ReplaceAll(text, filepath.Dir(filepath.Dir(file)), ""))
		}
		if diff := cmp.Diff(printed[1], printed[0]); diff != "" || !strings.HasSuffix(printed[0], "(/src/main.ts:22:3)") {
			t.Errorf("%s (-everything +joined):\n%s\n%s", kind, diff, printed[0])
		}
	}
}

// A build uses the packages that an earlier build kept. It returns the same bytes as a build
// without them.
func TestBundleKeepsPackages(t *testing.T) {
	f := forms(t, "")
	src := f.source(t)
	build := func() v1.Hash {
		src.Base = f.source(t).Base
		return digestOf(t, f.mustBuild(t, src).Images.All[0])
	}
	want := build()
	files := e2e.Glob(t, filepath.Join(src.Artifacts.Dir, "typescript/bundles/*"))
	if len(files) != 1 {
		t.Fatalf("kept %q", files)
	}
	data := e2e.Must(os.ReadFile(files[0]))(t)
	for _, tc := range []struct {
		reason, content string
		used            bool
	}{
		{"a whole file is used", string(data), true},
		{"a file that ends early is replaced", string(data[:len(data)/2]), false},
		{"a changed file is replaced", strings.Replace(string(data), "default of esm", "another string", 1), false},
		{"an empty file is replaced", "", false},
	} {
		e2e.NoError(t, os.WriteFile(files[0], []byte(tc.content), 0o600))
		before := stat(t, files[0])
		e2e.Equal(t, tc.reason, want, build())
		e2e.Equal(t, tc.reason, tc.used, os.SameFile(before, stat(t, files[0])))
	}
	f.write(t, "src/first.ts", "console.log(\"changed\");\n")
	before := stat(t, files[0])
	if got := build(); got == want || !os.SameFile(before, stat(t, files[0])) {
		t.Errorf("after a change of source: got the image %s", got)
	}
}

func stat(t *testing.T, file string) os.FileInfo {
	t.Helper()
	return e2e.Must(os.Stat(file))(t)
}

func TestBundleOfEverything(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		entry  object
	}{
		"Dynamic":  {"a package can be loaded later", map[string]string{"src/main.ts": "import(\"a\");\n"}, nil},
		"CommonJS": {"the source can be in CommonJS", map[string]string{"src/main.ts": "import \"a\";\nmodule.exports = 1;\n"}, nil},
		"Await":    {"a package can wait when it is loaded", map[string]string{"package.json": `{"name": "a", "module": "index.mjs", "main": "index.mjs"}`, "index.mjs": "await 1;\n"}, nil},
		"Native":   {"a package can import one with compiled code", map[string]string{"package.json": `{"name": "a", "main": "index.mjs"}`, "index.mjs": "import n from \"native\";\nconsole.log(n);\n"}, object{"dependencies": object{"native": "1"}}},
		"Project":  {"a package can import a file of the project", map[string]string{"index.js": "require(\"lib\");\n"}, object{"dependencies": object{"lib": "1"}}},
		"Exports":  {"the source can export a package", map[string]string{"src/main.ts": "export * from \"a\";\n"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"src/main.ts": "import \"a\";\n", "packages/lib/package.json": `{"name": "lib"}`, "packages/lib/index.js": ""}
			if main := tc.files["src/main.ts"]; main != "" {
				files["src/main.ts"], tc.files = main, map[string]string{"index.js": ""}
			}
			f := newFunction(t, files)
			f.add(t, "node_modules/a", "1.0.0", tc.files, tc.entry)
			f.add(t, "node_modules/native", "1.0.0", map[string]string{"index.js": "", "x.node": ""}, object{"optional": true})
			f.lock["node_modules/lib"], f.lock["packages/lib"] = object{"link": true, "resolved": "packages/lib"}, object{}
			if text, _ := code(t, f); strings.Contains(text, "__xfnPackage") {
				t.Errorf("%s: got\n%s", tc.reason, text)
			}
		})
	}
}
