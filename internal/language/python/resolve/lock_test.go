package resolve_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// sum is a SHA-256 sum in hex.
var sum = strings.Repeat("ab", 32)

// uvLock has the dependencies of the official template, with fewer wheels.
const uvLock = `version = 1
revision = 3
requires-python = ">=3.11, <3.14"
resolution-markers = ["python_full_version >= '3.13'", "python_full_version < '3.13'"]

[[package]]
name = "click"
version = "8.4.1"
source = { registry = "https://index.example.org/simple" }
dependencies = [{ name = "colorama", marker = "sys_platform == 'win32'" }]
sdist = { url = "https://index.example.org/click-8.4.1.tar.gz", hash = "sha256:SUM", size = 5 }
wheels = [{ url = "https://index.example.org/click-8.4.1-py3-none-any.whl", hash = "sha256:SUM", size = 5, upload-time = "2026-01-01T00:00:00Z" }]

[[package]]
name = "colorama"
version = "0.4.6"
source = { registry = "https://index.example.org/simple" }
sdist = { url = "https://index.example.org/colorama-0.4.6.tar.gz", hash = "sha256:SUM" }

[[package]]
name = "function"
source = { editable = "." }
dependencies = [
    { name = "click" },
    { name = "crossplane-function-sdk-python" },
    { name = "numbers", version = "1.0", source = { registry = "https://index.example.org/simple" }, marker = "python_full_version < '3.13'" },
    { name = "numbers", version = "2.0", source = { registry = "https://index.example.org/simple" }, marker = "python_full_version >= '3.13'" },
]

[package.metadata]
requires-dist = [
    { name = "click", specifier = "==8.4.1" },
    { name = "pytest", marker = "extra == 'dev'", specifier = ">=8" },
    { name = "crossplane-function-sdk-python", specifier = "==0.14.0" },
    { name = "numbers", specifier = ">=1" },
]

[[package]]
name = "crossplane-function-sdk-python"
version = "0.14.0"
source = { registry = "https://index.example.org/simple" }
dependencies = [{ name = "grpcio" }, { name = "pydantic", extra = ["email"] }]
wheels = [{ url = "https://index.example.org/crossplane_function_sdk_python-0.14.0-py3-none-any.whl", hash = "sha256:SUM" }]

[[package]]
name = "grpcio"
version = "1.80.0"
source = { registry = "https://index.example.org/simple" }
wheels = [
    { url = "https://index.example.org/grpcio-1.80.0-cp312-cp312-manylinux2014_x86_64.whl", hash = "sha256:SUM" },
    { url = "https://index.example.org/grpcio-1.80.0-cp313-cp313-macosx_11_0_universal2.whl", hash = "sha256:SUM" },
    { url = "https://index.example.org/grpcio-1.80.0-cp313-cp313-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", hash = "sha256:SUM" },
    { url = "https://index.example.org/grpcio-1.80.0-cp313-cp313-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", hash = "sha256:SUM" },
    { url = "https://index.example.org/grpcio-1.80.0-cp313-cp313-musllinux_1_2_x86_64.whl", hash = "sha256:SUM" },
]

[[package]]
name = "pydantic"
version = "2.12.5"
source = { registry = "https://index.example.org/simple" }
wheels = [{ url = "https://index.example.org/pydantic-2.12.5-py3-none-any.whl", hash = "sha256:SUM" }]

[package.optional-dependencies]
email = [{ name = "email-validator" }]

[[package]]
name = "email-validator"
version = "2.3.0"
source = { registry = "wheels" }
wheels = [{ path = "email_validator-2.3.0-py3-none-any.whl", hash = "sha256:SUM" }]

[[package]]
name = "numbers"
version = "1.0"
source = { registry = "https://index.example.org/simple" }
resolution-markers = ["python_full_version < '3.13'"]
wheels = [{ url = "https://index.example.org/numbers-1.0-py3-none-any.whl", hash = "sha256:SUM" }]

[[package]]
name = "numbers"
version = "2.0"
source = { registry = "https://index.example.org/simple" }
resolution-markers = ["python_full_version >= '3.13'"]
wheels = [{ url = "https://index.example.org/numbers-2.0-cp310-abi3-manylinux_2_28_x86_64.whl", hash = "sha256:SUM" }, { url = "https://index.example.org/numbers-2.0-py3-none-any.whl", hash = "sha256:SUM" }]
`

const pylock = `lock-version = "1.0"
environments = ["sys_platform == 'linux'"]
requires-python = ">=3.11"
created-by = "a test"

[[packages]]
name = "click"
version = "8.4.1"
sdist = { url = "https://index.example.org/click-8.4.1.tar.gz", hashes = { sha256 = "SUM" } }
wheels = [{ name = "click-8.4.1-py3-none-any.whl", url = "https://index.example.org/x", hashes = { sha256 = "SUM" }, size = 5, upload-time = 2026-01-01T00:00:00Z }]

[[packages]]
name = "colorama"
version = "0.4.6"
marker = "sys_platform == 'win32'"
sdist = { path = "colorama-0.4.6.tar.gz", hashes = { sha256 = "SUM" } }

[[packages]]
name = "function"
directory = { path = ".", editable = true }
`

const pinned = `# made by a tool
--index-url https://index.example.org/simple
click==8.4.1 \
    --hash=sha256:SUM \
    --hash=sha256:SUM
    # via function
colorama==0.4.6 ; sys_platform == 'win32' --hash=sha256:SUM
-e .
./../schemas/python
`

// grouped is as PDM writes a pylock.toml: the dependencies of the project are a group.
const grouped = `lock-version = "1.0"
dependency-groups = ["default", "dev"]
default-groups = ["default"]

[[packages]]
name = "click"
marker = "\"default\" in dependency_groups"
archive = { url = "https://example.org/click-8.4.1-py3-none-any.whl?x=1", hashes = { sha256 = "SUM" } }

[[packages]]
name = "pytest"
version = "8.0"
marker = "\"dev\" in dependency_groups"
sdist = { path = "pytest-8.0.tar.gz", hashes = { sha256 = "SUM" } }
`

// conflicts is a uv.lock of a workspace with conflicting extras, whose project needs a member,
// a wheel in a folder and a wheel at a URL. uv names an extra of a conflict as in the markers.
const conflicts = `version = 1
[[package]]
name = "root"
source = { virtual = "." }
[[package]]
name = "function"
source = { editable = "functions/fn" }
dependencies = [
    { name = "models" },
    { name = "click", version = "8.4.1", source = { registry = "https://a.example.org/simple" }, marker = "extra != 'extra-8-function-other'" },
    { name = "click", version = "8.4.1", source = { registry = "https://b.example.org/simple" }, marker = "extra == 'extra-8-function-other'" },
]
[[package]]
name = "models"
source = { directory = "lib/models" }
dependencies = [{ name = "local" }, { name = "remote" }]
[[package]]
name = "unused"
source = { editable = "lib/unused" }
[[package]]
name = "local"
version = "1.0"
source = { path = "wheels/local-1.0-py3-none-any.whl" }
wheels = [{ filename = "local-1.0-py3-none-any.whl", hash = "sha256:SUM" }]
[[package]]
name = "remote"
version = "1.0"
source = { url = "https://example.org/remote-1.0-py3-none-any.whl" }
wheels = [{ url = "https://example.org/remote-1.0-py3-none-any.whl", hash = "sha256:SUM" }]
[[package]]
name = "click"
version = "8.4.1"
source = { registry = "https://a.example.org/simple" }
wheels = [{ url = "https://a.example.org/click-8.4.1-py3-none-any.whl", hash = "sha256:SUM" }]
[[package]]
name = "click"
version = "8.4.1"
source = { registry = "https://b.example.org/simple" }
wheels = [{ url = "https://b.example.org/click-8.4.1-1-py3-none-any.whl", hash = "sha256:SUM" }]
`

// included are the files that a requirements.txt names.
var included = map[string]string{
	"more/base.txt":        "-r ../gone.txt\n-c constraints.txt\nlocal @ file:wheels/local-1.0-py3-none-any.whl --hash=sha256:SUM",
	"pinned.txt":           pinned + "-r requirements.txt\n",
	"constraints.txt":      "--extra-index-url https://example.org\nclick<9\nother<1\ncolorama<0 ; sys_platform == 'win32'\n",
	"more/constraints.txt": "click<8.4\n",
}

func parse(file, text string) (*resolve.Lock, error) {
	data := []byte(strings.ReplaceAll(text, "SUM", sum))
	switch {
	case strings.HasSuffix(file, ".txt"):
		return resolve.ParseRequirements(file, data, func(name string) ([]byte, error) {
			if included[name] == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(strings.ReplaceAll(included[name], "SUM", sum)), nil
		})
	case strings.HasPrefix(file, "uv"):
		return resolve.ParseUV(file, data)
	default:
		return resolve.ParsePylock(file, data)
	}
}

func requirements(t testing.TB, all ...string) []resolve.Requirement {
	t.Helper()
	var parsed []resolve.Requirement
	for _, text := range all {
		parsed = append(parsed, e2e.Must(resolve.ParseRequirement(text))(t))
	}
	return parsed
}

func TestChoose(t *testing.T) {
	template := []string{"click==8.4.1", "crossplane-function-sdk-python==0.14.0", "numbers>=1"}
	arm, alpine, old := debian, debian, debian
	arm.Arch, alpine.Musl, alpine.LibcMajor, alpine.LibcMinor, old.Minor = "arm64", true, 1, 2, 12
	cases := map[string]struct {
		reason, file, text string
		required           []string
		target             resolve.Target
		want               []string
	}{
		"Graph": {"extras are followed, and dependencies of Windows are not", "uv.lock", uvLock, template, debian, []string{
			"click-8.4.1-py3-none-any.whl", "crossplane_function_sdk_python-0.14.0-py3-none-any.whl", "email_validator-2.3.0-py3-none-any.whl wheels/email_validator-2.3.0-py3-none-any.whl",
			"grpcio-1.80.0-cp313-cp313-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", "numbers-2.0-cp310-abi3-manylinux_2_28_x86_64.whl", "pydantic-2.12.5-py3-none-any.whl",
		}},
		"OtherProcessor": {"each processor has its own wheels", "uv.lock", uvLock, template, arm, []string{
			"click-8.4.1-py3-none-any.whl", "crossplane_function_sdk_python-0.14.0-py3-none-any.whl", "email_validator-2.3.0-py3-none-any.whl wheels/email_validator-2.3.0-py3-none-any.whl",
			"grpcio-1.80.0-cp313-cp313-manylinux2014_aarch64.manylinux_2_17_aarch64.whl", "numbers-2.0-py3-none-any.whl", "pydantic-2.12.5-py3-none-any.whl",
		}},
		"Musl": {"musl has its own wheels", "uv.lock", uvLock, template, alpine, []string{
			"click-8.4.1-py3-none-any.whl", "crossplane_function_sdk_python-0.14.0-py3-none-any.whl", "email_validator-2.3.0-py3-none-any.whl wheels/email_validator-2.3.0-py3-none-any.whl",
			"grpcio-1.80.0-cp313-cp313-musllinux_1_2_x86_64.whl", "numbers-2.0-py3-none-any.whl", "pydantic-2.12.5-py3-none-any.whl",
		}},
		"Fork": {"an older Python selects the other version", "uv.lock", uvLock, template, old, []string{
			"click-8.4.1-py3-none-any.whl", "crossplane_function_sdk_python-0.14.0-py3-none-any.whl", "email_validator-2.3.0-py3-none-any.whl wheels/email_validator-2.3.0-py3-none-any.whl",
			"grpcio-1.80.0-cp312-cp312-manylinux2014_x86_64.whl", "numbers-1.0-py3-none-any.whl", "pydantic-2.12.5-py3-none-any.whl",
		}},
		"Pylock": {"packages whose marker is true are installed", "pylock.toml", pylock, []string{"click"}, debian, []string{"click-8.4.1-py3-none-any.whl"}},
		"Groups": {"default groups are installed, also a wheel that is an archive", "pylock.toml", grouped, []string{"click"}, debian, []string{"click-8.4.1-py3-none-any.whl"}},
		"Conflicts": {"packages of extras that conflict are not installed", "uv.lock", strings.NewReplacer("functions/fn", ".", "virtual = \".\"", "virtual = \"top\"").Replace(conflicts), []string{"click"}, debian, []string{
			"click-8.4.1-py3-none-any.whl", "local-1.0-py3-none-any.whl wheels/local-1.0-py3-none-any.whl", "remote-1.0-py3-none-any.whl",
		}},
		"Included":     {"other files of requirements are included", "requirements.txt", "\ufeff-r pinned.txt\t# all\n--constraint constraints.txt\n--trusted-host example.org\n", []string{"click>=8"}, debian, []string{"click 8.4.1 with 2 hashes"}},
		"URL":          {"a wheel at a URL needs no index", "requirements.txt", "a @ https://u:p@example.org/a-1.0-py3-none-any.whl \\\n  --hash=sha256:SUM\n./w/b-2-py3-none-any.whl#sha256=SUM", nil, debian, []string{"a-1.0-py3-none-any.whl", "b-2-py3-none-any.whl ./w/b-2-py3-none-any.whl"}},
		"Requirements": {"an index is asked for the files of the hashes", "requirements.txt", pinned, []string{"click>=8"}, debian, []string{"click 8.4.1 with 2 hashes"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			choices := e2e.Must(e2e.Must(parse(tc.file, tc.text))(t).Choose("pyproject.toml", requirements(t, tc.required...), tc.target))(t)
			var got []string
			for _, c := range choices {
				if c.Wheel.Name == "" {
					got = append(got, fmt.Sprintf("%s with %d hashes", c, len(c.Hashes)))
				} else {
					got = append(got, strings.TrimSpace(c.Wheel.Name+" "+c.Wheel.Path))
				}
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestChooseRefuses(t *testing.T) {
	template := []string{"click==8.4.1", "crossplane-function-sdk-python==0.14.0", "numbers>=1"}
	windows := strings.ReplaceAll(pylock, "'win32'", "'linux'")
	old := debian
	old.Minor = 10
	cases := map[string]struct {
		reason, file, text string
		required           []string
		target             resolve.Target
		want               string
	}{
		"Extra":       {"the project wants another extra than the lock file has", "uv.lock", uvLock, []string{"click[color]==8.4.1", "crossplane-function-sdk-python==0.14.0", "numbers>=1"}, debian, "pyproject.toml requires click[color]==8.4.1, but uv.lock was created without the extra color"},
		"Environment": {"the lock file is for other systems", "pylock.toml", strings.Replace(pylock, "'linux'", "'darwin'", 1), []string{"click"}, debian, "pylock.toml is for the environments sys_platform == 'darwin', and not for linux/amd64"},
		"Constraint":  {"a constraint contradicts a version", "requirements.txt", pinned + "-c more/constraints.txt", []string{"click"}, debian, "requirements.txt has click 8.4.1, but its constraints require click<8.4"},
		"Version":     {"the project wants another version than the lock file has", "uv.lock", uvLock, []string{"click==8.3.2", "crossplane-function-sdk-python", "numbers"}, debian, "pyproject.toml requires click==8.3.2, but uv.lock has click 8.4.1"},
		"Missing":     {"the project wants what the lock file does not have", "uv.lock", uvLock, append(template, "new>=1"), debian, "pyproject.toml requires new>=1, but uv.lock does not have it"},
		"Removed":     {"the lock file has what the project no longer wants", "uv.lock", uvLock, template[:2], debian, "uv.lock was created for numbers, but pyproject.toml does not require it"},
		"Python":      {"the lock file is for other versions of Python", "uv.lock", uvLock, template, old, "uv.lock requires Python >=3.11,<3.14, but the base image has 3.10.5"},
		"Source":      {"a package that exists as source only cannot be installed", "pylock.toml", windows, []string{"click"}, debian, "choosing a wheel of colorama 0.4.6 from pylock.toml: it exists only as source (an sdist)"},
		"Platform":    {"a package without a wheel of the processor cannot be installed", "uv.lock", strings.ReplaceAll(uvLock, "x86_64", "ppc64le"), template, debian, "no wheel is for linux/amd64 with Python 3.13 and glibc 2.41: grpcio-1.80.0-cp312-cp312-manylinux2014_ppc64le.whl"},
		"Twice":       {"two entries with true markers contradict each other", "pylock.toml", strings.ReplaceAll(windows, "colorama", "click"), []string{"click"}, debian, "package click occurs twice"},
		"NotThere":    {"the graph leads to a missing package", "uv.lock", strings.ReplaceAll(uvLock, `name = "email-validator"`+"\nversion", `name = "other"`+"\nversion"), template, debian, `package "email-validator" is required, but is not in the file`},
		"OtherName":   {"a wheel in the entry of a package is another package's", "pylock.toml", strings.ReplaceAll(pylock, `name = "click-`, `name = "clack-`), []string{"click"}, debian, `wheel "clack-8.4.1-py3-none-any.whl" is not of click 8.4.1`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lock, err := parse(tc.file, tc.text)
			e2e.NoError(t, err)
			_, err = lock.Choose("pyproject.toml", requirements(t, tc.required...), tc.target)
			e2e.ErrorHas(t, tc.reason, err, tc.want)
			if name == "Source" && !strings.Contains(string(hint.Of(err)), string(hint.EmbedRuntimeDir)) {
				t.Errorf("the hint names the way out, got %q", hint.Of(err))
			}
		})
	}
}

func TestParseLockRefuses(t *testing.T) {
	cases := map[string]struct{ reason, file, text, want string }{
		"NotTOML":     {"the line of a mistake is named", "uv.lock", "version = 1\nx =", "parsing uv.lock:2:"},
		"UVEmpty":     {"an empty file is refused", "uv.lock", "\n", "uv.lock: the file is empty"},
		"UVVersion":   {"another format is refused", "uv.lock", "version = 2", "expected version 1"},
		"UVMarker":    {"a marker must be valid", "uv.lock", "version = 1\n[[package]]\nname='a'\ndependencies=[{name='b', marker='x'}]", `package "a": parsing marker "x"`},
		"UVHash":      {"a wheel needs a hash", "uv.lock", "version = 1\n[[package]]\nname='a'\nwheels=[{url='https://example.org/a-1-py3-none-any.whl'}]", `wheel "a-1-py3-none-any.whl": expected the hash sha256:HEX, got ""`},
		"UVType":      {"a value must have the right type", "uv.lock", "version = 'x'", "parsing uv.lock"},
		"Password":    {"a URL is not in an error", "uv.lock", "version = 1\n[[package]]\nname='a'\nwheels=[{url='https://u:secret@%zz/a', hash='sha256:SUM'}]", "invalid URL"},
		"PylockTwo":   {"another format is refused", "pylock.toml", "lock-version = '2.0'", `expected lock-version 1, got "2.0"`},
		"PylockHash":  {"other hashes than SHA-256 are refused", "pylock.toml", "lock-version = '1.0'\n[[packages]]\nname='a'\nwheels=[{url='https://example.org/a-1-py3-none-any.whl', hashes={md5='x'}}]", "expected the hash sha256:HEX"},
		"NotPinned":   {"a range is not a version", "requirements.txt", "\na>=1 --hash=sha256:SUM", `parsing requirements.txt:2: package "a" has no fixed version`},
		"NotHashed":   {"a hash is required", "requirements.txt", "a==1", `package "a" has no hash`},
		"Wildcard":    {"a prefix is not a version", "requirements.txt", "a==1.* --hash=sha256:SUM", `package "a" has no fixed version`},
		"OtherHash":   {"other hashes than SHA-256 are refused", "requirements.txt", "a==1 --hash=md5:00", "expected the hash sha256:HEX"},
		"OtherOption": {"an unknown option is refused", "requirements.txt", "--find-links x", "option --find-links is not supported"},
		"Include":     {"the place of a mistake in another file is named", "requirements.txt", "\n-r more/base.txt", `parsing requirements.txt:2: parsing more/base.txt:1: reading "gone.txt"`},
		"IncludeURL":  {"an included file must be a file", "requirements.txt", "-r https://example.org/x", "must have a relative path"},
		"URL":         {"source at a URL needs a build", "requirements.txt", "a @ https://u:secret@example.org/a.tar.gz --hash=sha256:SUM", `package "a" is at a URL, and not a wheel: it needs a build`},
		"Git":         {"a repository needs a build", "requirements.txt", "-e git+https://secret@example.org/a.git#egg=a", `package "a.git" is at a URL`},
		"URLHash":     {"a wheel at a URL needs a hash", "requirements.txt", "a @ https://example.org/a-1-py3-none-any.whl", `wheel "a-1-py3-none-any.whl" has 0 hashes`},
		"Environment": {"an environment must be a marker", "pylock.toml", "lock-version = '1.0'\nenvironments = ['x']", `environments: parsing marker "x"`},
		"NoName":      {"a line must be a requirement", "requirements.txt", "==1", "expected the name of a package"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tc.file, tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s: got error %v, want %q", tc.reason, err, tc.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has a password: %v", err)
			}
		})
	}
}

func TestDirectories(t *testing.T) {
	cases := map[string]struct {
		reason, file, text, from string
		want                     []string
	}{
		"Workspace":    {"only members that the project needs are source folders", "uv.lock", conflicts, "functions/fn", []string{"lib/models"}},
		"Requirements": {"paths may have extras and a marker", "requirements.txt", "-e .\n./lib/a[x] ; os_name == 'posix'\nb @ file:../b\nfile:lib/c#egg=c", "", []string{"lib/a", "../b", "lib/c"}},
		"Pylock":       {"a source folder may be in a folder of its own", "pylock.toml", "lock-version='1.0'\n[[packages]]\nname='a'\ndirectory={path='../x', subdirectory='a'}", "", []string{"../x/a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lock := e2e.Must(parse(tc.file, tc.text))(t)
			lock.From = tc.from
			e2e.Equal(t, tc.reason, tc.want, lock.Directories())
		})
	}
}
