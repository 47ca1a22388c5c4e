package main

import (
	"os"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// mistakenFiles are the files of TestMistakesWithPackages. REGISTRY is the address of a registry.
var mistakenFiles = map[string]string{
	"package/crossplane.yaml":      "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: plain}\nspec: {}\n",
	"root/crossplane.yaml":         "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: root}\nspec:\n  dependsOn:\n  - {provider: REGISTRY/acme/none, version: v1.0.0}\n",
	"crossplane-project.yaml":      "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: demo}\nspec:\n  repository: REGISTRY/acme/demo\n",
	"url.yaml":                     "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: demo}\nspec:\n  repository: https://REGISTRY/acme/demo\n",
	"empty.lock":                   "",
	"newer/crossplane.yaml":        "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: plain}\nspec: {crossplane: {version: \">=v2.0.0\"}}\n",
	"xr.yaml":                      "apiVersion: example.org/v1\nkind: XA\nmetadata: {name: a}\n",
	"composition.yaml":             "apiVersion: apiextensions.crossplane.io/v1\nkind: Compositon\nmetadata: {name: a}\n",
	"functions.yaml":               "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\nspec: {package: REGISTRY/acme/plain:v1.2.0}\n",
	"newer.yaml":                   "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f}\nspec: {package: REGISTRY/acme/plain:v9.0.0}\n",
	"request.yaml":                 "meta: {tag: a}\n",
	"text.xpkg":                    "text\n",
	"wrong/crossplane.yaml":        "apiVersion: meta.pkg.crossplane.io/v2\nkind: Configuration\nmetadata: {name: root}\n",
	"op.yaml":                      "apiVersion: ops.crossplane.io/v1alpha1\nkind: Operation\nmetadata: {name: op}\nspec: {mode: Pipeline, pipeline: [{step: a, functionRef: {name: function-og-templating}}]}\n",
	"wrongop.yaml":                 "apiVersion: apiextensions.crossplane.io/v1\nkind: WatchOperation\nmetadata: {name: op}\n",
	"list.yaml":                    "apiVersion: v1\nkind: List\nitems: [{apiVersion: example.org/v1, kind: XA, metadata: {name: a}}]\n",
	"other.yaml":                   "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: a}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: Bucket}\n  mode: Pipeline\n  pipeline: [{step: a, functionRef: {name: function-auto-ready}}]\n",
	"xrd.yaml":                     "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: buckets.example.org}\nspec: {group: example.org, scope: Namespaced, names: {kind: Bucket, plural: buckets}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
	"all/all.yaml":                 "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: xas.example.org}\nspec: {group: example.org, scope: Namespaced, names: {kind: XA, plural: xas}, versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}]}\n---\napiVersion: example.org/v1\nkind: XA\nmetadata: {name: a, namespace: b}\n",
	"shop/crossplane-project.yaml": "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  repository: REGISTRY/acme/shop\n  imageConfigs:\n  - spec: {matchImages: [{prefix: xpkg.crossplane.io/crossplane-contrib/}], rewriteImage: {prefix: REGISTRY/none/}}\n",
	"shop/functions/f/a.gotmpl":    "a: b\n",
	"shut/crossplane-project.yaml": "apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nmetadata: {name: shut}\nspec:\n  repository: REGISTRY/acme/shut\n  imageConfigs:\n  - spec: {matchImages: [{prefix: xpkg.crossplane.io/crossplane-contrib/}], rewriteImage: {prefix: 127.0.0.1:1/none/}}\n",
	"shut/functions/f/a.gotmpl":    "a: b\n",
	"kinds/other.yaml":             "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: b}\nspec: {compositeTypeRef: {apiVersion: example.org/v1, kind: Bucket}, mode: Pipeline, pipeline: [{step: a, functionRef: {name: function-auto-ready}}]}\n",
	"kinds/a/composition.yaml":     "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: a}\nspec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XA}, mode: Pipeline, pipeline: [{step: a, functionRef: {name: function-auto-ready}}]}\n",
	"cm.yaml":                      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n",
}

// TestMistakesWithPackages checks that the messages of commands about packages, projects, images
// and signatures name what is wrong and the next step. The rows run in their order, because some
// rows need packages that earlier rows create.
func TestMistakesWithPackages(t *testing.T) {
	address := remotetest.Serve(t, remotetest.Embedded(t))
	t.Setenv("XFN_CACHE_DIR", t.TempDir())
	t.Setenv("COSIGN_PASSWORD", "")
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for path, text := range mistakenFiles {
		e2e.WriteFile(t, path, strings.ReplaceAll(text, "REGISTRY", address))
	}
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00>\x00" + strings.Repeat("\x00", 44)
	e2e.NoError(t, os.WriteFile("program", []byte(elf), 0o755))
	for _, args := range []string{"xpkg build -f package -o plain.xpkg", "xpkg push -f plain.xpkg REGISTRY/acme/plain:v1.2.0", "xpkg build -f newer -o newer.xpkg", "xpkg build -f root -o root.xpkg", "xpkg push -f root.xpkg REGISTRY/acme/root:v1.0.0", "xpkg keygen"} {
		if text := output(t, strings.Fields("xfn "+strings.ReplaceAll(args, "REGISTRY", address))); strings.Contains(text, "error") {
			t.Fatal(text)
		}
	}
	for _, tc := range []struct{ reason, args, want, hint string }{
		{"the flag of another command has a similar word", "xpkg sign REF --key cosign.key", "unknown flag --key", "did you mean --sign-key FILE?"},
		{"the flag of another command has a word more", "xpkg verify REF --sign-key cosign.pub", "unknown flag --sign-key", "did you mean --key FILE?"},
		{"an unknown flag may have several similar ones", "xpkg build --runtime-image x", "unknown flag --runtime-image", "did you mean --embed-runtime-image NAME or --embed-runtime-image-tarball FILE?"},
		{"no flag that switches a check off is proposed", "xpkg build --verify", "unknown flag --verify\n", "see xfn xpkg build --help"},
		{"an architecture has few variants", "xpkg build -f package --embed-runtime-source package --platform linux/amd64/v9", `unknown variant "v9" of amd64`, "use one of v1, v2, v3, v4"},
		{"a flag for the output has another name", "xpkg build --output x", "unknown flag --output", "did you mean --package-file FILE?"},
		{"a command without a flag for the output prints it", "rbac -o x", "unknown flag -o", "write > FILE at the end of the command"},
		{"a command that creates a file names its flag", "xrd generate xr.yaml -o x", "unknown flag -o", "did you mean --path FILE?"},
		{"a command that fills a directory names its flag", "project init x --out x", "unknown flag --out", "did you mean --directory DIR?"},
		{"a template is not written to standard output", "xpkg init x go -o x", "unknown flag -o", "did you mean --directory DIR?"},
		{"a lock file is not written to standard output", "lock functions.yaml --output x", "unknown flag --output", "did you mean --lock-file FILE?"},
		{"a dependency is written to the project file", "dependency add k8s:v1.33.0 -o x", "unknown flag -o", "name another one with --project-file"},
		{"a function has its place in the project", "function generate x -o x", "unknown flag -o", "spec.paths.functions"},
		{"a format is not the name of a file", "xpkg inspect REF -o json", "unknown flag -o", "as in --format json"},
		{"the version is a flag of the program", "--verison", "unknown flag --verison\n", "did you mean --version?"},
		{"other programs print their version with a letter", "-V", "unknown flag -V\n", "did you mean --version?"},
		{"a flag of all commands is misspelled before a command", "--quite version", `unknown flag --quite, did you mean "--quiet"?`, "see xfn --help"},
		{"one letter is similar to every other", "image -f x", "unknown flag -f\n", "see xfn image --help"},
		{"the platform of a program has a system", "image --program amd64=x --base-image package -o image.tar", `reading --program "amd64=x"`, "did you mean --program linux/amd64=x?"},
		{"the platform of a program has an architecture", "image --program linux=x -o image.tar", `reading --program "linux=x"`, "as in --program linux/amd64=x"},
		{"the architecture of a program has Go's name", "image --program linux/x86_64=x -o image.tar", `reading --program "linux/x86_64=x"`, "did you mean --program linux/amd64=x?"},
		{"the platform of a program is two words", "image --program x=x -o image.tar", "expected OS/ARCH=FILE", "write --program linux/amd64=FILE"},
		{"the file of a package without a runtime is not a base image", "image --program linux/amd64=program --base-image plain.xpkg -o image.tar", "the base image is a package without a runtime image", "name an image that a container can run"},
		{"a package without a runtime is not a base image", "image --program linux/amd64=program --base-image REF -o image.tar", "the base image is a package without a runtime image", "name an image that a container can run"},
		{"a predicate in another format is named by its file", "xpkg sign REF --sign-key cosign.key --attest spdx=cm.yaml", `reading attestation "cm.yaml": expected a JSON object: `, "--sbom"},
		{"an image in an engine has a name", "xpkg build -f package --embed-runtime-image ./x", `reading --embed-runtime-image "./x": expected the name of an image`, "--embed-runtime-image-tarball ./x"},
		{"the misspelled path of an image is a path", "xpkg build -f package --embed-runtime-image ./packge", "got a path", "did you mean package?"},
		{"a composite resource composes nothing", "rbac xr.yaml", "xr.yaml:2: expected a Composition, an XRD, a CRD or a suite, got kind XA of example.org/v1", "name the files of Compositions"},
		{"a Function composes nothing", "rbac functions.yaml", "functions.yaml:2: expected a Composition, an XRD, a CRD or a suite, got kind Function", "name the files of Compositions"},
		{"the path of a suite is misspelled", "upgrade-check xr.yml --with f=v1", `looking for suites in "xr.yml": no such file`, "did you mean xr.yaml?"},
		{"the version of a function is required", "upgrade-check --with f=", "the version of the function is missing", "write --with f=v0.1.0"},
		{"the path of a program is misspelled", "image --program linux/amd64=progam -o image.tar --base-image REF", `reading program "progam": no such file`, "did you mean program?"},
		{"the program of an image is a file", "image --program linux/amd64=package -o image.tar --base-image REF", `reading program "package": expected a file`, "name the file of a program for linux/amd64"},
		{"the kind of a Composition is misspelled", "rbac composition.yaml", "composition.yaml: found neither a Composition nor a suite", "composition.yaml:1: did you mean kind: Composition?"},
		{"a lock file is not empty", "lock cm.yaml --lock-file empty.lock", "empty.lock: there is no YAML document", "kind: Lock; remove this file"},
		{"the key of a signature is not an argument", "xpkg sign cosign.key REF", "unexpected argument REF", "as in xfn xpkg sign registry.example.org/acme/hello:v0.1.0 --sign-key cosign.key"},
		{"the key of a verification is required", "xpkg verify REF", "expected --key or --certificate-identity", "--key cosign.pub"},
		{"a signature needs a key", "xpkg sign REF", "expected --sign-key or --fulcio-url", "xfn xpkg keygen"},
		{"a file has no signatures", "xpkg sign ./plain.xpkg --sign-key cosign.key", `expected a package in a registry, got the file "./plain.xpkg"`, "signatures are in registries"},
		{"a variable with a key has a scheme", "xpkg sign REF --sign-key env:KEY", `expected FILE or env://NAME, got "env:KEY"`, "did you mean env://KEY?"},
		{"a variable in single quotes is text", "xpkg verify REF --key $KEY", `expected FILE or env://NAME, got "$KEY"`, "did you mean env://KEY?"},
		{"a private key does not verify", "xpkg verify REF --key cosign.key", "expected a public key, got a private key", ".pub file"},

		{"a repository of a flag is not a URL", "project push --repository https://REGISTRY/acme/demo", "a repository is not a URL", `leave out the scheme: "REGISTRY/acme/demo"`},
		{"a repository of a project file is not a URL", "project build -f url.yaml", "url.yaml:5: spec.repository is not valid", `leave out the scheme: "REGISTRY/acme/demo"`},
		{"the registry of a new project is named once", "project init shop -r r.example/acme --repository r.example/acme/shop", "begins with a registry, which --registry names", "write --registry r.example/acme --repository shop"},
		{"the registry of a new project has a flag", "project init shop --repository r.example/acme/shop", "begins with a registry, which --registry names", "write --registry r.example/acme --repository shop"},
		{"a package is not a project file", "project push -f plain.xpkg", `expected a project file, got the package "plain.xpkg"`, "--package-file"},
		{"a package file is not a project file", "project push --package-file plain.xpkg", "it is not the file of a project", "xfn xpkg push plain.xpkg "},
		{"the package file of a project is not an argument", "project push plain.xpkg", "unexpected argument plain.xpkg", "--package-file"},
		{"a package of its own is not a project", "project pull REF", "is not a Configuration of a project", "xfn xpkg pull"},

		{"a dependency has a registry", "dependency add function-auto-ready", `parsing reference "function-auto-ready": it names no registry`, "did you mean xpkg.crossplane.io/crossplane-contrib/function-auto-ready?"},
		{"the repository of a dependency must exist", "dependency add REGISTRY/acme/none", `has no repository "acme/none"`, "check the spelling"},
		{"a dependency of a dependency is named with both", "dependency add REGISTRY/acme/root:v1.0.0", `reading "REGISTRY/acme/none", on which "REGISTRY/acme/root" depends: `, "check the spelling"},
		{"the version of a dependency must exist", "dependency add REGISTRY/acme/plain:v9.0.0", `none of the 1 tags matches "v9.0.0"`, "name a version that exists, such as v1.2.0"},
		{"a release of Kubernetes has three numbers", "dependency add k8s:1.33", `the version of k8s is "1.33"`, "did you mean k8s:v1.33.0?"},
		{"a reference is not a URL", "dependency add https://REF", "a repository is not a URL", `leave out the scheme: "REF"`},
		{"a page is not a file of CRDs", "dependency add http://REGISTRY/acme/plain", "404", `for a package, leave out the scheme: "REGISTRY/acme/plain"`},

		{"a misspelled folder is not a reference", "xpkg inspect packge", `there is no file or directory "packge"`, "did you mean package?"},
		{"a misspelled path is not a reference", "xpkg lint ./packge", `opening "./packge": no such file or directory`, "did you mean package?"},
		{"a misspelled package was perhaps not built", "xpkg inspect plan.xpkg", "no such file or directory", "did you mean plain.xpkg? Otherwise build"},
		{"a misspelled package root is a path", "xpkg build -f packge", `reading package root "packge": no such file`, "did you mean package?"},
		{"a misspelled package to extract is a path", "xpkg extract packge", `there is no file or directory "packge"`, "did you mean package?"},
		{"a misspelled package file to extract is a path", "xpkg extract plan.xpkg", `opening "plan.xpkg": no such file`, "did you mean plain.xpkg?"},
		{"a misspelled source of CRDs is a path", "xpkg get-crds packge", "no such file", "did you mean package?"},
		{"a builtin is served by another command", "run function-auto-ready", "it names no registry", "xfn function serve function-auto-ready"},
		{"a claim is in a file, or on standard input", "xr generate", "standard input: there is no YAML document", "name a file, or pipe"},
		{"a misspelled function is a path", "run packge", "", "did you mean package?"},
		{"a misspelled base image is a path", "image --base-image ./packge -o image.tar", "no such file", "did you mean package?"},
		{"a path cannot be pulled", "xpkg pull ./plain", `parsing reference "./plain": it is the path of a file`, "/REPOSITORY:TAG"},
		{"a package is copied to registries only", "xpkg copy REF ./plain", `parsing reference "./plain": it is the path of a file`, "xfn xpkg pull REF -o ./plain"},

		{"a dash of typography is not a hyphen", "render –-xrd x", `"–-xrd" begins with the dash – (U+2013), not with -`, "write --xrd"},
		{"the files of a pattern are one value with commas", "xpkg build --ignore dev.yaml prod.yaml -o a.xpkg", "unexpected argument prod.yaml", "for several values of --ignore, write --ignore dev.yaml,prod.yaml; a pattern is in quotes"},
		{"platforms are separated by commas, and not by blanks", "xpkg build --platform=linux/amd64 linux/arm64 linux/arm", "unexpected argument linux/arm64", "write --platform linux/amd64,linux/arm64,linux/arm\n"},
		{"each word of an entry point has its flag", "xpkg build --entrypoint python3 main.py", "unexpected argument main.py", "write --entrypoint python3 --entrypoint main.py\n"},
		{"arguments follow the values of a flag", "render --compositions a.yaml b.yaml c.yaml d.yaml e.yaml f.yaml", "unexpected argument ", "for several values of --compositions, write --compositions a.yaml --compositions b.yaml"},
		{"two package files precede a reference", "xpkg push -f plain.xpkg newer.xpkg REF", `unexpected argument "REF"`, "for several package files, write -f plain.xpkg,newer.xpkg\n"},
		{"three package files precede a reference", "xpkg push -f plain.xpkg newer.xpkg root.xpkg REF", "unexpected argument REF", "for several values of -f, write -f plain.xpkg -f newer.xpkg;"},
		{"the version of a dependency is not a flag", "dependency add REGISTRY/acme/plain --version v1.2.0", "unknown flag --version\n", "write REPOSITORY:v1.2.0"},
		{"the name of a package file is a path", "xpkg build --name a", "unknown flag --name\n", "did you mean --package-file FILE?"},
		{"older programs call the runtime image a controller", "xpkg build --controller a", "unknown flag --controller\n", "did you mean --embed-runtime-image NAME?"},
		{"families of providers are built by another program", "xpkg batch", `unknown command "batch"`, "use the crossplane CLI"},
		{"a project runs in a control plane", "project run", `unknown command "run"`, "xfn manages no control plane"},
		{"a quotation mark of typography is a letter", "xpkg build --ignore “dev.yaml”", `"“dev.yaml”" begins with the quotation mark “ (U+201C), not with "`, "write \"dev.yaml\"\n"},
		{"a value in quotation marks of typography follows =", "xpkg build --ignore=‘dev.yaml’", `begins with the quotation mark ‘ (U+2018)`, "write --ignore \"dev.yaml\"\n"},
		{"a flag of one letter has one dash", "xpkg build --o a.xpkg", "unknown flag --o\n", "did you mean -o?"},
		{"a dash of typography may be short", "xpkg build —o a.xpkg", `"—o" begins with the dash — (U+2014), not with -`, "write -o\n"},
		{"the most similar of several flags is first", "test --junt x", `unknown flag --junt, did you mean one of "--junit", `, "see xfn test --help"},
		{"a URL is not a file", "render http://localhost/x.yaml composition.yaml", `reading "http://localhost/x.yaml": no such file`, "download the file first"},
		{"several values are several flags", "render xr.yaml --compositions xrd.yaml,other.yaml", `reading "xrd.yaml,other.yaml": no such file`, "repeat the flag or argument for each file"},
		{"a directory has no documents", "render shop/functions composition.yaml", "shop/functions: the directory has no .yaml or .yml file", "name the file of a composite resource"},
		{"a misspelled flag may lack a word", "validate --skip-sucess", "unknown flag --skip-sucess\n", "did you mean --skip-success-results?"},
		{"an empty value is not one of the allowed values", "validate a --composition-mode losee", `must be one of "warn","loose","strict" but got "losee"`, "did you mean --composition-mode loose?"},
		{"a flag of other test programs has another name", "test --case a", "unknown flag --case\n", "did you mean --run REGEXP?"},
		{"watching is a command", "test --watch", "unknown flag --watch\n", "run xfn dev"},
		{"an input of a render is a field of suites", "test --xrd xr.yaml", "unknown flag --xrd\n", "set xrd in the suite, in defaults or in a case"},
		{"required resources are a field of suites", "test --required-resources xr.yaml", "unknown flag", "set required in the suite"},
		{"a port is a part of the address", "registry serve --port 5000", "unknown flag --port\n", "did you mean --address HOST:PORT?"},
		{"a value with - is not a flag", "cache prune --older-than -5d", "--older-than needs a value, got -5d", `write --older-than DURATION; for a value that begins with -: --older-than="-5d"`},
		{"a duration is positive", "cache prune --older-than=-5d", `expected a positive duration such as 12h or 30d, got "-5d"`, "--older-than 30d for days"},

		{"the name of a new package precedes its template", "xpkg init go a -d new", `unknown template "a"`, "the order is name, template: xfn xpkg init a go"},
		{"a template is misspelled", "xpkg init a function-template-goo -d new", "unknown template", "did you mean function-template-go? Otherwise name one of go, "},
		{"the path of a template is misspelled", "xpkg init a ./packge -d new", "there is no git repository", "package?"},
		{"the path of a template does not exist", "xpkg init a ./zzzzzzzzzz -d new", "there is no git repository", "no file or directory has this path"},
		{"a template has commits", "xpkg init a ./package -d new", "there is no git repository", "git commit"},

		{"platforms are separated by commas", "xpkg build -f package --embed-runtime-source package --lint=warn --platform linux/amd64;linux/arm64", `reading --platform "linux/amd64;linux/arm64"`, "separate platforms with a comma: linux/amd64,linux/arm64"},
		{"an argument is not a flag", "xpkg init --name a go", "unknown flag --name\n", "the name is an argument: the usage is xfn xpkg init <name> <template> [flags]"},
		{"a profile is not a release", "render xr.yaml other.yaml --profile v1.20", "--profile must be one of", "--crossplane-version v1.20"},
		{"a value out of a list is misspelled", "test --format jsn", "--format must be one of", "did you mean --format json?"},
		{"a package is written to an existing directory", "xpkg build -f package -o none/x.xpkg", `writing package "none/x.xpkg": creating a file in "none": no such file or directory`, "make the directory first"},
		{"a package file is pulled to an existing directory", "xpkg pull REF -o none/x.xpkg", `writing package "none/x.xpkg": creating a file in "none"`, "make the directory first"},
		{"the lock file of a project has its dependencies", "project build --locked --lock-file none.lock", `reading lock file "none.lock": no such file`, "as in xfn lock crossplane-project.yaml"},
		{"the metadata of a package is not left out", "xpkg build -f package -o y.xpkg --ignore *.yaml", "contains no package metadata: package/crossplane.yaml is left out by a pattern", "change the pattern in --ignore or in .xpkgignore"},
		{"a package is installed in a control plane", "xpkg install REF", `unknown command "install"`, "use the crossplane CLI"},
		{"xfn uses the credentials of other programs", "xpkg login", `unknown command "login"`, "docker login"},
		{"the groups of commands have no other groups", "alpha xpkg x", `unknown command "xpkg"`, "did you mean xfn xpkg?"},
		{"a short word is like no command if half of its letters differ", "help nope", `unknown command "nope"`, "see xfn --help"},
		{"help is about commands", "help xpkg nosuch", `unknown command "nosuch"`, "see xfn xpkg --help"},
		{"the name of a command is in lower case", "XPKG build", `unknown command "XPKG"`, "did you mean xfn xpkg?"},
		{"a reference is locked with its file", "lock REF", `"REF" is a reference, expected a file`, "as in xfn lock functions.yaml"},
		{"a project file is not a directory", "project lint -f all", `reading project file: expected a file, got "all"`, "name a file such as crossplane-project.yaml"},
		{"the directory of a project is not its file", "project lint -f .", `reading project file: expected a file, got "."`, "name a file such as crossplane-project.yaml"},
		{"the tag of a project is a flag", "project push v1.0.0", "unexpected argument v1.0.0", "name the tag with --tag"},
		{"an XRD is generated from an XR", "xrd generate xrd.yaml", "expected a composite resource, got kind CompositeResourceDefinition", "name the file of an example of the new XR"},
		{"an object without a kind is not an XRD", "composition generate request.yaml", "request.yaml:1: expected a CompositeResourceDefinition, got an object without a kind\n", "which xfn xrd generate writes for an XR"},
		{"a Composition is generated from an XRD", "composition generate xr.yaml", "expected a CompositeResourceDefinition, got", "which xfn xrd generate writes for an XR"},
		{"a project file is not empty", "project lint -f empty.lock", "there is no YAML document", "in a new directory with xfn project init"},
		{"a cache belongs to its user", "lock functions.yaml --cache-dir program/cache", `opening cache "`, "--cache-dir or XFN_CACHE_DIR"},
		{"the folder of suites is misspelled", "upgrade-check suites", `looking for suites in "suites": no such file`, "check the path"},
		{"a project is built for architectures of Go", "project build --platform linux/foo", `unknown architecture "foo"`, "use linux/amd64 or linux/arm64"},
		{"a project may have no APIs", "rbac", "crossplane-project.yaml: the project has no files in apis and tests", "xfn xrd generate"},
		{"a package file is pushed to a reference", "xpkg push -f plain.xpkg", "missing the reference to push to", "as in xfn xpkg push -f hello.xpkg"},
		{"a package has one root", "xpkg build -f package -f newer", "--package-root is given several times, but accepts one value", "leave out all but one"},
		{"a composite resource has one XRD", "render xr.yaml other.yaml --xrd xrd.yaml --xrd all/all.yaml", "--xrd is given several times", "leave out all but one"},
		{"a file is a part of an index once", "xpkg push -f plain.xpkg -f plain.xpkg REF", `"plain.xpkg" is named twice`, "leave one out"},
		{"two files may have one image", "xpkg push -f plain.xpkg -f ./plain.xpkg REF", `"plain.xpkg" and "./plain.xpkg" have the same image`, "leave one out"},
		{"a package without a runtime has one file", "xpkg push -f plain.xpkg -f newer.xpkg REF", `"plain.xpkg" and "newer.xpkg" are both a Configuration, which has no runtime image and needs only one file`, "leave one out"},
		{"a package file is not a package root", "xpkg build plain.xpkg", "unexpected argument plain.xpkg", "push it, as in xfn xpkg push -f plain.xpkg "},
		{"a package file is not a project", "project build plain.xpkg", "unexpected argument plain.xpkg", "push it, as in xfn project push --package-file plain.xpkg"},
		{"a pull does not replace other files", "xpkg pull REF -o xr.yaml", `writing package "xr.yaml": the file exists and is not a package`, "name a file that ends in .xpkg, or remove"},
		{"a build does not replace other files", "xpkg build -f package -o xr.yaml", `writing package "xr.yaml": the file exists and is not a package`, "name a file that ends in .xpkg, or remove"},
		{"the pull of a project does not replace other files", "project pull REF -o xr.yaml", `writing package "xr.yaml": the file exists and is not a package`, "name a file that ends in .xpkg, or remove"},
		{"files are written to a directory", "render xr.yaml cm.yaml --output-dir xr.yaml", `--output-dir: "xr.yaml" is a file, expected a directory`, "name a directory"},
		{"CRDs are written to a directory", "xpkg get-crds xrd.yaml -o cm.yaml", `making "cm.yaml/`, "a parent of the path is a file, not a directory"},
		{"a report is written to a file", "xpkg build -f package -o copy.xpkg --sbom package", `writing SBOM "package"`, "this is a directory: name a file"},
		{"suites are several arguments", "test xrd.yaml,other.yaml", `looking for suites in "xrd.yaml,other.yaml": no such file`, "repeat the flag or argument"},
		{"observed resources are several flags", "render xr.yaml other.yaml -o xrd.yaml,other.yaml", `reading "xrd.yaml,other.yaml": no such file`, "repeat the flag or argument"},
		{"a folder of templates exists", "render xr.yaml other.yaml --templates packge", `reading --templates: there is no directory "packge"`, "did you mean package?"},
		{"a package root is named by a flag", "xpkg build package", "unexpected argument package", "name the directory of crossplane.yaml with -f"},
		{"a package is pushed to a reference", "xpkg push plain.xpkg", `missing the reference to push the file "plain.xpkg" to`, "as in xfn xpkg push plain.xpkg registry.example.org/acme/hello:v0.1.0"},
		{"the key of a signature is private", "xpkg sign REF --sign-key cosign.pub", "expected a private key, got a public key", "name the private key"},
		{"the registry of a reference is not replaced", "xpkg push -f plain.xpkg REF --registry other.example.org", "--registry other.example.org has no effect", "leave out --registry, or the registry in the reference"},
		{"the registry of a repository is not replaced", "project push --registry other.example.org", "--registry other.example.org has no effect", "write --repository other.example.org/acme/demo"},
		{"dependencies have versions", "xpkg push -f plain.xpkg REGISTRY/acme/plain:latest", `warning: the tag "latest" is not a version`, "--tag v0.1.0"},
		{"the source of a function is not a package", "run package", `expected a package or an image, got the directory "package"`, "xfn xpkg build -f package/package --embed-runtime-source package"},
		{"a file of objects is not linted", "xpkg lint xr.yaml", `linting "xr.yaml": expected a package root`, "xfn validate"},
		{"a file that does not exist can be a package", "xpkg lint zzzzzzzzzz", `there is no file or directory "zzzzzzzzzz"`, "name an existing path"},
		{"a function must run to be called", "function call 127.0.0.1:1 -f request.yaml", "connection refused", "start the function first, as in xfn function serve NAME"},
		{"a builtin is misspelled", "function call patch-and-transfrom -f request.yaml", `there is no builtin "patch-and-transfrom"`, "did you mean patch-and-transform?"},

		{"the file of a package to push is not its reference", "xpkg push none.xpkg", `missing the reference to push the file "none.xpkg" to`, "registry.example.org"},
		{"a path without a similar one begins somewhere", "lock zzzzzzzzzz.yaml", "no such file or directory", "a relative path begins at the working directory"},
		{"CRDs are in definitions and packages", "xpkg get-crds xr.yaml", "error: xr.yaml: found neither CRDs", "package files"},
		{"an image needs a name", "image", "expected a reference to push to", "as in xfn image registry.example.org"},
		{"the coverage is written to a directory", "test cm.yaml --coverage=xr.yaml", `--coverage: "xr.yaml" is a file, expected a directory`, "name a directory"},
		{"the directory of traces is created in a directory", "test cm.yaml --trace-html cm.yaml/x", `creating the directory "cm.yaml/x" of --trace-html: not a directory`, "a parent of the path is a file"},
		{"calls are recorded in a directory", "render xr.yaml cm.yaml --record xr.yaml", `--record: "xr.yaml" is a file, expected a directory`, "name a directory"},
		{"the old Compositions must exist", "diff cm.yaml -o cm.yaml --from zzzzzzzzzz", `--from: reading "zzzzzzzzzz": no such file or directory`, "the old Compositions"},
		{"an Operation is not an XR", "operation render xr.yaml", "xr.yaml:2: not an operation type", "rendered by xfn render"},
		{"a key is in PEM", "xpkg verify REF --key xr.yaml", "expected a key in PEM", "cosign.pub"},
		{"a package is built from the directory of its metadata", "xpkg build -f package/crossplane.yaml", "it is not a directory", "name the directory of the file: package"},
		{"a reference has one tag", "xpkg push -f plain.xpkg REF:v2", `"v1.2.0:v2" is not a tag`, "name one tag"},
		{"a text is not a package", "xpkg lint text.xpkg", "the file is not a tar file", "xfn xpkg build"},
		{"metadata of packages has no version v2", "xpkg build -f wrong", "kind Configuration of meta.pkg.crossplane.io/v2", "did you mean apiVersion: meta.pkg.crossplane.io/v1?"},
		{"a percentage has no sign", "test --coverage-min 80%", "expected a float", "write --coverage-min 80\n"},
		{"resources alone are not validated", "validate xr.yaml", "expected both", "as in xfn validate definition.yaml xr.yaml"},
		{"an Operation has no Composition", "render op.yaml --xr op.yaml", "", "xfn operation render op.yaml"},
		{"a builtin of a step is misspelled", "operation render op.yaml", "which was not found", "did you mean function-go-templating? Otherwise "},
		{"nothing is locked under an unknown name", "lock functions.yaml --update=x", "nothing in xfn.lock is named", "leave --update out"},
		{"a dump may lack Compositions", "upgrade-check -o xr.yaml --crossplane-version v2.1", "nothing was compared", "with --composition"},
		{"the name of a function precedes its pipeline", "function generate other.yaml x", "cannot name a function", "the order is name, pipeline: xfn function generate x other.yaml"},
		{"a ConfigMap has no pipeline", "function generate x cm.yaml", "cm.yaml:2: expected a Composition", "xfn composition generate"},
		{"a project is named by a flag", "project lint demo", "unexpected argument demo", "by its file with -f"},
		{"a composite resource of another kind may be a claim", "render xr.yaml other.yaml", "is for kind Bucket", "or, if this is a claim, name the directory of its XRD and Composition with --compositions"},
		{"a ConfigMap is rendered by no Composition", "render cm.yaml other.yaml", "cm.yaml:2: expected a composite resource, got ConfigMap", "name the file of an object whose kind an XRD defines"},
		{"a list of kubectl is not a composite resource", "render list.yaml other.yaml", "list.yaml:2: expected a composite resource, got a List", "with kubectl get KIND NAME -o yaml"},
		{"a composite resource is not the file of a project", "render -f xr.yaml other.yaml", "xr.yaml:2: expected a project file, got kind XA of example.org/v1", "the order is XR, Composition, functions"},
		{"another file is built as a project", "project build -f cm.yaml", "cm.yaml:2: expected a project file, got kind ConfigMap of v1", "such as crossplane-project.yaml"},
		{"the file is in a folder", "render all.yaml other.yaml", `reading "all.yaml": no such file`, "did you mean all/all.yaml?"},
		{"an Operation has the API version of a Composition", "operation render wrongop.yaml", "wrongop.yaml:2: not an operation type", `set "apiVersion: ops.crossplane.io/v1alpha1" at wrongop.yaml:1`},
		{"a ConfigMap is rendered by no Composition of a project", "render cm.yaml", "expected a composite resource, got", "name the file of an object whose kind an XRD defines"},
		{"a function is added to a project with its commands", "render xr.yaml kinds/a/composition.yaml", "which was not found", "xfn dependency add, or the source with xfn function generate, or name its package with --package NAME=PATH"},
		{"a project has a Composition for each XR", "render xr.yaml", "no Composition in", "xfn composition generate"},
		{"two mistakes are reported together", "xpkg build -f package --embed-runtime-source package --platform linux/amd46", `reading --platform "linux/amd46": unknown platform`, "leave --embed-runtime-source out, or build the package anyway with --lint=warn; did you mean linux/amd64?"},
		{"a Configuration has no runtime", "xpkg build -f package --embed-runtime-source package", `the package in "package" is a Configuration with a runtime image, which nothing would run`, "leave --embed-runtime-source out"},
		{"a package is not written to a directory", "xpkg pull REF -o package", `writing package "package": it is a directory`, "such as package/package.xpkg"},
		{"an empty file is not a package", "xpkg lint ./empty.lock", "the file is empty", "build or pull the file again"},
		{"the project in the working directory is locked", "lock --check --lock-file none.lock", "is not up to date: it does not exist\n", "run xfn lock --lock-file none.lock\n"},
		{"an image that was not pulled is not locked offline", "lock newer.yaml --lock-file none.lock --offline", "is not in the cache", "run this command once without --offline"},
		{"a claim needs its XRD", "render xr.yaml --compositions other.yaml", "no Composition is for XA", "for a claim, add its XRD, too"},
		{"the Composition is in a folder of the folder", "render xr.yaml --compositions kinds", "no Composition is for XA", "name the directory kinds/a, too: directories in kinds are not read"},
		{"the dump has no kind of the Compositions", "diff other.yaml -o xr.yaml", "it has XA, and the Compositions are for Bucket", "correct the kinds"},
		{"a repository without a registry is in lower case", "project build --repository ACME/x", "expected a repository in lower case", `write the repository in lower case: "acme/x"`},
		{"definitions among the resources are not schemas", "validate xrd.yaml all", "CRDs and XRDs among the resources are not used as schemas", "name their files among the schemas, too"},
		{"the registry of a base image does not answer", "project build -f shut/crossplane-project.yaml", "127.0.0.1:1", "; or use only base images in the cache with --offline"},
		{"the base image of a function is not in the mirror", "project build -f shop/crossplane-project.yaml", "(shop/crossplane-project.yaml:7 rewrites ", "correct the prefixes of the ImageConfig"},
		{"a project does not depend on itself", "dependency add REGISTRY/acme/demo:v1.0.0", `the package "REGISTRY/acme/demo" is the project itself`, "correct its repository or the project's"},
		{"the error for an unreadable dependency has the line of its entry", "validate root cm.yaml", "reading the dependencies of root/crossplane.yaml:6: ", "--offline"},
	} {
		reference := strings.NewReplacer("REF", address+"/acme/plain:v1.2.0", "REGISTRY", address)
		text, next, _ := strings.Cut(output(t, strings.Fields("xfn "+reference.Replace(tc.args))), "hint: ")
		if !strings.Contains(text, reference.Replace(tc.want)) || !strings.Contains(next, reference.Replace(tc.hint)) || tc.hint == "" {
			t.Errorf("%s: xfn %s: want %q and the hint %q, got:\n%shint: %s", tc.reason, tc.args, tc.want, tc.hint, text, next)
		}
	}
}

// TestEmptyValues checks that an empty value, as of a variable that is not set, is an error unless
// the flag allows an empty value.
func TestEmptyValues(t *testing.T) {
	t.Chdir(t.TempDir())
	const leave = "hint: leave it out, or set the variable that it comes from"
	for _, tc := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"no command has an empty name", []string{""}, "an argument is empty\n" + leave},
		{"no command of a group has an empty name", []string{"xpkg", ""}, "an argument is empty\n" + leave},
		{"an argument is a file", []string{"test", "a", ""}, "the argument <path> is empty\n" + leave},
		{"a required argument cannot be left out", []string{"render", "", ""}, "the argument <xr> is empty\nhint: set the variable"},
		{"another name of a command has the same rule", []string{"composition", "render", ""}, "the argument <xr> is empty"},
		{"a flag is a file", []string{"xpkg", "keygen", "-o", ""}, "the value of --output is empty\n" + leave},
		{"a required flag cannot be left out", []string{"diff", "c.yaml", "-o", ""}, "the value of --observed is empty\nhint: set the variable"},
		{"one of several values is empty", []string{"xpkg", "push", "a", "--tag=v1", "--tag", ""}, "the value of --tag is empty"},
		{"a list with commas is empty", []string{"xpkg", "build", "--platform="}, "the value of --platform is empty"},
		{"a file that the parser reads has no name", []string{"render", "a", "b", "--ca-file", ""}, "the value of --ca-file is empty\n" + leave},
		{"a value out of a list is not empty", []string{"render", "a", "b", "--format="}, "the value of --format is empty\n" + leave},
		{"an empty format of a validation is text, as in the crossplane CLI", []string{"validate", "none", "none", "-o", ""}, `reading "none": no such file`},
		{"the wrong value of a flag is not the empty one of another", []string{"validate", "a", "-n", "", "--dependencies=foo"}, `--dependencies must be one of "none","configurations","all" but got "foo"`},
		{"a flag that is only of xfn may not be empty", []string{"xpkg", "build", "--ignore=", "--base-image="}, "the value of --base-image is empty\n" + leave},
		{
			"flags of the crossplane CLI for a build may be empty",
			[]string{"xpkg", "build", "--ignore=", "--examples-root", "", "--embed-runtime-image=", "--package-file=", "-f", "none"},
			`reading package root "none": no such file`,
		},
		{
			"flags of the crossplane CLI for a render may be empty",
			[]string{"render", "none", "a", "b", "-o", "", "-e=", "-s", "c", "-s", "", "--extra-resources=", "--xrd=", "--function-credentials=", "-a", "", "--cache-dir="},
			`loading the composite resource: reading "none": no such file`,
		},
		{"flags of the crossplane CLI for a push may be empty", []string{"xpkg", "push", "-f", "", "-a", "", "registry.example.org/a/b:v1"}, "the current directory has no .xpkg file"},
		{"a path with a space is quoted in the command of a hint", []string{"xpkg", "push", "a b.xpkg"}, "missing the reference to push the file \"a b.xpkg\" to\nhint: as in xfn xpkg push 'a b.xpkg' registry.example.org/"},
		{"flags of the crossplane CLI for an XRD may be empty", []string{"xrd", "generate", "none", "--plural=", "--path="}, "finding the project file: "},
		{"the root of a package may be empty, as in the crossplane CLI", []string{"xpkg", "build", "-f", ""}, `package root "." contains no package metadata`},
	} {
		if text := output(t, append([]string{"xfn"}, tc.args...)); !strings.Contains(text, "xfn: error: "+tc.want) {
			t.Errorf("%s: %q: want %q, got:\n%s", tc.reason, tc.args, tc.want, text)
		}
	}
}

// TestVariables checks that a variable may not begin with the ~ of the home directory.
func TestVariables(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XFN_CACHE_DIR", "~/x")
	for _, tc := range []struct{ reason, args, want string }{
		{"a cache is not in a directory ~", "cache info", "XFN_CACHE_DIR is \"~/x\", but only a shell replaces ~, and not in quotes\nhint: set it to the absolute path, in a shell with XFN_CACHE_DIR=\"$HOME/x\""},
		{"a flag has priority over its variable", "cache info --cache-dir x", `reading the cache "`},
		{"a variable of other commands is not read", "version", "xfn " + version},
	} {
		e2e.Has(t, tc.reason, output(t, strings.Fields("xfn "+tc.args)), tc.want)
	}
	for _, name := range []string{"XFN_CACHE_DIR", "XFN_LOCKED", "XFN_REQUIRE_VERIFIED", "XFN_RUNTIME", "XFN_SHARDS", "JOB_COMPLETION_INDEX"} {
		t.Setenv(name, "")
	}
	e2e.Has(t, "a variable of a number or a switch may be empty", output(t, []string{"xfn", "test", "none"}), `error: looking for suites in "none"`)
	t.Setenv("CROSSPLANE_XPKG_CACHE", "~/y")
	e2e.Has(t, "an empty variable counts as not set", output(t, []string{"xfn", "cache", "info"}), `CROSSPLANE_XPKG_CACHE is "~/y"`)
}

const (
	mistakenCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.example.org}\nspec:\n  group: example.org\n  scope: Namespaced\n  names: {kind: Foo, plural: foos, singular: foo, listKind: FooList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec: {type: object}\n"
	mistakenXRD = "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: xas.example.org}\nspec:\n  group: example.org\n  scope: Namespaced\n  names: {kind: XA, plural: xas}\n  versions:\n  - name: v1\n    served: true\n    referenceable: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n              size: {type: integer}\n"
	mistakenPT  = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: a}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XA}\n  mode: Pipeline\n  pipeline:\n  - step: pt\n    functionRef: {name: function-patch-and-transform}\n    input:\n      apiVersion: pt.fn.crossplane.io/v1beta1\n      kind: Resources\n      resources:\n      - name: x\n        base: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: d}}\n"
)

// TestMistakesInSchemas checks the messages about mistakes in the definitions of kinds, and in words
// that YAML reads as booleans.
func TestMistakesInSchemas(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	replaced := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	for path, text := range map[string]string{
		"cm.yaml":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n",
		"foo.yaml":             "apiVersion: example.org/v1\nkind: Foo\nmetadata: {name: a}\n",
		"xa.yaml":              "apiVersion: example.org/v1\nkind: XA\nmetadata: {name: a, namespace: b}\nspec: {size: 1}\n",
		"fn.yaml":              "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-patch-and-transform}\nspec: {package: xpkg.crossplane.io/crossplane-contrib/function-patch-and-transform:v0.9.0}\n",
		"good.yaml":            mistakenXRD,
		"claims.yaml":          replaced(mistakenXRD, "  scope:", "  compositeDeletePolicy: Foreground\n  scope:"),
		"policy.yaml":          replaced(mistakenXRD, "  scope:", "  defaultCompositeDeletePolicy: Foreground\n  scope:"),
		"claim.yaml":           "apiVersion: example.org/v1\nkind: XA\nmetadata: {name: a, namespace: b}\nspec: {compositeDeletePolicy: Foreground}\n",
		"claimed.yaml":         "apiVersion: example.org/v1\nkind: XA\nmetadata: {name: a, namespace: b}\nspec: {crossplane: {compositeDeletePolicy: Foreground}}\n",
		"scope.yaml":           replaced(mistakenCRD, "Namespaced", "namespaced"),
		"noschema.yaml":        strings.Split(mistakenCRD, "    schema:")[0],
		"ref.yaml":             replaced(mistakenCRD, "{type: object}", "{$ref: '#/x'}"),
		"group.yaml":           replaced(mistakenXRD, "example.org", "platform"),
		"xscope.yaml":          replaced(mistakenXRD, "Namespaced", "cluster"),
		"kind.yaml":            replaced(mistakenXRD, "kind: XA,", "kind: -1,"),
		"versions.yaml":        strings.Split(mistakenXRD, "  - name")[0] + "    a: b\n",
		"key.yaml":             replaced(mistakenXRD, "size:", "n:"),
		"each.yaml":            "apiVersion: xfn.dev/v1alpha1\nkind: TestSuite\ncases:\n- name: ${each.n}\n  each: [{n: b}]\n",
		"y.yaml":               replaced(mistakenPT, "name: x", "name: y"),
		"dat.yaml":             replaced(mistakenPT, "ConfigMap,", "ConfigMap, dat: {a: b},"),
		"conf/crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: p}\nspec: {}\n",
		"conf/y.yaml":          replaced(mistakenPT, "name: x", "name: y"),
		"conf/key.yaml":        replaced(mistakenXRD, "size:", "n:"),
	} {
		e2e.WriteFile(t, path, text)
	}
	const refused = "an API server refuses this CustomResourceDefinition: "
	for _, tc := range []struct{ reason, args, want string }{
		{"a definition that nothing uses is checked", "validate scope.yaml cm.yaml", "\nwarning: scope.yaml:6: " + refused + `spec.scope: Unsupported value: "namespaced"`},
		{"a definition of another group is checked", "validate group.yaml xa.yaml", `xas.platform : spec.group: Invalid value: "platform": should be a domain with at least one dot (group.yaml:5)`},
		{"a definition among the resources is reported once", "validate scope.yaml scope.yaml", "(scope.yaml:6)\n    6 |   scope: namespaced\n      |          ^^^^^^^^^^\nTotal 1 "},
		{"only claims have a policy of deleting composite resources", "validate good.yaml claim.yaml", `unknown field "spec.compositeDeletePolicy", which only claims have: remove it (claim.yaml:4)`},
		{"fields of Crossplane have no policy of claims", "validate good.yaml claimed.yaml", `unknown field "spec.crossplane.compositeDeletePolicy", which only claims have: remove it (claimed.yaml:4)`},
		{"an XRD without claims has no policy of claims", "validate claims.yaml xa.yaml", `unknown field "spec.compositeDeletePolicy", which only claims have: remove it (claims.yaml:6)`},
		{"a default for claims has no effect without claims", "validate policy.yaml xa.yaml", "warning: policy.yaml:6: spec.defaultCompositeDeletePolicy: only claims have compositeDeletePolicy, and the XRD has no claims: remove it\n"},
		{"CRDs that are written are checked", "xpkg get-crds group.yaml -o crds", "warning: group.yaml:5: " + refused},
		{"an error names a version without a schema", "validate noschema.yaml foo.yaml", "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required (noschema.yaml:9)"},
		{"a keyword that is not supported has a line", "validate ref.yaml foo.yaml", "spec.versions[0].schema.openAPIV3Schema.properties[spec].$ref: Forbidden: '$ref' is not supported: write each schema where it is used (ref.yaml:16)"},
		{"XRDs of v2 have two scopes", "validate xscope.yaml xa.yaml", `xscope.yaml:6: spec.scope is "cluster", expected Namespaced or Cluster, did you mean Cluster?`},
		{"a field of another type is not missing", "validate kind.yaml xa.yaml", "kind.yaml:7: spec.names.kind must be a string, not a number\n"},
		{"an object is not a list of versions", "validate versions.yaml xa.yaml", "versions.yaml:8: spec.versions must be a list, not an object\n"},
		{"y is true", "validate good.yaml y.yaml", `spec.pipeline[0].input.resources[0].name: must be a string, not a boolean, y means true in YAML: write "y" (y.yaml:14)`},
		{"y is true in a package", "xpkg lint conf", "error: conf/y.yaml:14: spec.pipeline[0].input.resources[0].name: must be a string, not a boolean (composition)\n   14 |       - name: y\n      |         ^^^^\nhint: y means true in YAML: write \"y\"\n"},
		{"y is true in a render", "render xa.yaml y.yaml fn.yaml -q", "\nhint: resources[0].name must be a string, not a boolean: y means true in YAML: write \"y\"\n"},
		{"n is false as a key of a definition", "validate key.yaml xa.yaml", `warning: key.yaml:19: the key n means false in YAML: write "n"`},
		{"n is false as a key of a table in a suite", "test each.yaml", `warning: each.yaml:5: the key n means false in YAML: write "n"`},
		{"n is false as a key in a package", "xpkg lint conf", `warning: conf/key.yaml:19: the key n means false in YAML: write "n" (boolean-key)`},
		{"an invalid field is in the template", "render xa.yaml dat.yaml fn.yaml -q --validate --xrd good.yaml", `error: dat.yaml:15: composed resource "x" of xa.yaml:1: ConfigMap of v1: unknown field "dat", did you mean data?`},
		{"lint is stricter than validate", "validate good.yaml dat.yaml", "note: with --composition-mode loose, the command fails because of 1 warning"},
		{"the builtins that are allowed are not suggested", "render xa.yaml y.yaml fn.yaml --runtime Process --builtins any --offline", "; or leave out --runtime Process, which does not run the builtin of this name\n"},
	} {
		if got := output(t, strings.Fields("xfn "+tc.args)); !strings.Contains(got, tc.want) {
			t.Errorf("%s: xfn %s: want %q, got:\n%s", tc.reason, tc.args, tc.want, got)
		}
	}
}
