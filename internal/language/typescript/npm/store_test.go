package npm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
	"github.com/xfn-dev/xfn/internal/progress"
)

// manifest is the entry that each tarball needs.
var manifest = tar.Header{Name: "package/package.json", Mode: 0o644}

// tarball returns a package's tarball. The content of a file is its name.
func tarball(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	w := tar.NewWriter(zip)
	for _, h := range headers {
		content := h.Name
		if h.Typeflag != 0 && h.Typeflag != tar.TypeReg {
			content = ""
		}
		h.Size = int64(len(content))
		e2e.NoError(t, w.WriteHeader(&h))
		e2e.Must(io.WriteString(w, content))(t)
	}
	e2e.NoError(t, w.Close())
	e2e.NoError(t, zip.Close())
	return buf.Bytes()
}

func integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// open returns a store with the settings of an .npmrc. Lines with {host} are for the server.
func open(t *testing.T, server *httptest.Server, npmrc string) *npm.Store {
	t.Helper()
	project := t.TempDir()
	if server != nil {
		npmrc = "registry=" + server.URL + "\n" + strings.ReplaceAll(npmrc, "{host}", strings.TrimPrefix(server.URL, "http://"))
	}
	e2e.NoError(t, os.WriteFile(filepath.Join(project, ".npmrc"), []byte(npmrc), 0o600))
	config := e2e.Must(npm.ReadConfig(project, []string{"TOKEN=s3cret"}))(t)
	return &npm.Store{Dir: filepath.Join(t.TempDir(), "npm"), Config: config, Tries: 3}
}

// serve serves the tarball at /a/-/a-1.0.0.tgz.
func serve(t *testing.T, data []byte) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a/-/a-1.0.0.tgz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s
}

func packageOf(data []byte) *npm.Package {
	return &npm.Package{At: "node_modules/a", Name: "a", Import: "a", Version: "1.0.0", Integrity: integrity(data)}
}

// get gets one package, and checks that nothing temporary remains.
func get(t *testing.T, s *npm.Store, p *npm.Package) (npm.Unpacked, error) {
	t.Helper()
	all, err := s.Get(t.Context(), []*npm.Package{p}, t.TempDir(), "")
	for _, name := range e2e.Names(t, s.Dir) {
		if !strings.HasPrefix(name, "sha") {
			t.Errorf("%q was left behind", name)
		}
	}
	return all[p.At], err
}

// A tree of files has their modes and contents by path.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	e2e.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = fmt.Sprintf("%v %s", info.Mode()&0o500, data)
		return err
	}))
	return all
}

func TestGet(t *testing.T) {
	data := tarball(
		t, manifest, tar.Header{Name: "package/lib/", Typeflag: tar.TypeDir, Mode: 0o700}, tar.Header{Name: "package/lib/run", Mode: 0o777},
		tar.Header{Name: "other-root/binding.gyp", Mode: 0o600}, tar.Header{Name: "package/deep/er/x.node"}, tar.Header{Name: "package/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "package/twice"}, tar.Header{Name: "./package/twice", Mode: 0o755},
	)
	server := serve(t, data)
	s := open(t, server, "")
	u := e2e.Must(get(t, s, packageOf(data)))(t)
	want := map[string]string{
		"package.json": "-r-------- package/package.json", "lib/run": "-r-x------ package/lib/run", "binding.gyp": "-r-------- other-root/binding.gyp",
		"deep/er/x.node": "-r-------- package/deep/er/x.node", "twice": "-r-x------ ./package/twice",
	}
	e2e.Equal(t, "files lose their first folder and get safe modes", want, treeOf(t, u.Dir))
	e2e.Equal(t, "facts are read from the files of the package", npm.Facts{Gyp: true, Native: true, Skipped: []string{"link"}}, u.Facts)
	server.Close()
	s.Offline = true
	again, err := get(t, s, packageOf(data))
	if diff := cmp.Diff(u, again); err != nil || diff != "" {
		t.Errorf("from the store, without a server: %v\n%s", err, diff)
	}
}

func TestGetRefuses(t *testing.T) {
	regular := func(name string) []byte { return tarball(t, manifest, tar.Header{Name: name}) }
	bomb := tarball(t, manifest)
	cases := map[string]struct {
		reason string
		data   []byte
		change func(*npm.Package)
		want   string
	}{
		"Parent":      {"paths must not leave the package", regular("package/../../x"), nil, "leads outside of the package"},
		"Absolute":    {"paths must not be absolute", regular("/package/x"), nil, "leads outside of the package"},
		"Backslash":   {"a backslash separates folders on Windows", regular(`package/..\..\x`), nil, "backslash"},
		"Whiteout":    {"whiteouts delete files of an image", regular("package/.wh.x"), nil, "mark another file as deleted"},
		"Device":      {"devices are an error", tarball(t, manifest, tar.Header{Name: "package/x", Typeflag: tar.TypeChar}), nil, `got type '3'`},
		"ThroughFile": {"a folder cannot replace a file", tarball(t, manifest, tar.Header{Name: "package/x"}, tar.Header{Name: "package/x/y"}), nil, "a file and a folder"},
		"ThroughLink": {"links are not followed, because they are not created", tarball(t, manifest, tar.Header{Name: "package/x", Typeflag: tar.TypeSymlink, Linkname: "/"}, tar.Header{Name: "package/x/../../../y"}), nil, "leads outside"},
		"OverFolder":  {"a file cannot replace a folder", tarball(t, manifest, tar.Header{Name: "package/x/y"}, tar.Header{Name: "package/x"}), nil, "a file and a folder"},
		"Deep":        {"the depth is limited", regular("package/" + strings.Repeat("d/", 100) + "x"), nil, "too long"},
		"NoManifest":  {"a package has a manifest", tarball(t, tar.Header{Name: "package/x"}), nil, "no package.json"},
		"NotZip":      {"a page of a proxy is not a tarball", []byte("<html>"), nil, "expected a tar.gz file"},
		"Cut":         {"an incomplete tarball is an error", bomb[:len(bomb)-20], nil, "unexpected EOF"},
		"Digest":      {"another digest than that in the lock file is an error", bomb, func(p *npm.Package) { p.Integrity = integrity(nil) }, "the tarball has the digest sha512:"},
		"NoIntegrity": {"a digest is required", bomb, func(p *npm.Package) { p.Integrity = "" }, "the lock file has no integrity"},
		"Integrity":   {"a digest has the length of its algorithm", bomb, func(p *npm.Package) { p.Integrity = "sha512-AAAA" }, `"sha512-AAAA" is not a digest`},
		"MD5":         {"other algorithms are an error", bomb, func(p *npm.Package) { p.Integrity = "md5-AAAA" }, "expected an integrity of sha512"},
		"Git":         {"git repositories have no tarball", bomb, func(p *npm.Package) { p.Integrity, p.Resolved = "", "git+ssh://git@host/x.git#abc" }, "git repository"},
		"Missing":     {"a missing version is an error", bomb, func(p *npm.Package) { p.Version = "9.9.9" }, "answers 404 Not Found"},
		"Scheme":      {"other schemes are an error", bomb, func(p *npm.Package) { p.Resolved = "ftp://host/x.tgz" }, "expected the URL of a tarball"},
		"Password":    {"a password in a URL is not shown", bomb, func(p *npm.Package) { p.Resolved = "https://me:s3cret@host/x.tgz" }, `got "https://host/x.tgz"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := packageOf(tc.data)
			if tc.change != nil {
				tc.change(p)
			}
			_, err := get(t, open(t, serve(t, tc.data), ""), p)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "a@") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: got %v, want %q and the package in it", tc.reason, err, tc.want)
			}
		})
	}
}

// A bomb is a small tarball with a large file.
func TestGetBomb(t *testing.T) {
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	e2e.NoError(t, tar.NewWriter(zip).WriteHeader(&tar.Header{Name: "package/x", Size: 3 << 30}))
	e2e.NoError(t, zip.Close())
	e2e.ErrorHas(t, "the size of an unpacked file is limited", e2e.Err(get(t, open(t, serve(t, buf.Bytes()), ""), packageOf(buf.Bytes()))), "larger than 2 GiB")
}

func TestGetWeakDigest(t *testing.T) {
	data := tarball(t, manifest)
	s, p := open(t, serve(t, data), ""), packageOf(data)
	sum := sha1.Sum(data)
	p.Integrity = "sha1-" + base64.StdEncoding.EncodeToString(sum[:])
	var warnings []string
	s.Progress = func(e progress.Event) {
		if e.Kind == progress.Warning {
			warnings = append(warnings, e.Text)
		}
	}
	e2e.Must(get(t, s, p))(t)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "a@1.0.0 has only a SHA-1 digest") {
		t.Errorf("got %q", warnings)
	}
	p.Integrity += " " + integrity(nil)
	e2e.ErrorHas(t, "of several digests, the strongest is checked", e2e.Err(get(t, s, p)), "sha512:")
}

func TestGetOffline(t *testing.T) {
	data := tarball(t, manifest)
	s := open(t, serve(t, data), "")
	s.Offline = true
	var all []*npm.Package
	for i := range 12 {
		p := packageOf(data)
		p.At, p.Name = fmt.Sprintf("node_modules/p%d", 11-i), fmt.Sprintf("p%02d", 11-i)
		all = append(all, p)
	}
	_, err := s.Get(t.Context(), all, "", "")
	want := "the cache lacks packages, and downloads are forbidden: p00@1.0.0, p01@1.0.0, "
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "p09@1.0.0 and 2 more") || !strings.Contains(string(hint.Of(err)), string(hint.Offline)) {
		t.Errorf("got %v with the hint %q", err, hint.Of(err))
	}
}

// Credentials are sent to the host in .npmrc, and not to a host that it redirects to.
func TestGetCredentials(t *testing.T) {
	data := tarball(t, manifest)
	var mu sync.Mutex
	seen := map[string]string{}
	note := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path] = r.Header.Get("Authorization")
	}
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		_, _ = w.Write(data)
	}))
	defer storage.Close()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, storage.URL+"/stored?signature=s3cret", http.StatusFound)
	}))
	defer registry.Close()
	cases := map[string]struct{ reason, npmrc, want, err string }{
		"Token":    {"a token with a variable is sent", "//{host}/:_authToken=${TOKEN}", "Bearer s3cret", ""},
		"Basic":    {"encoded credentials are sent", "//{host}/:_auth=eDp5", "Basic eDp5", ""},
		"Password": {"a user and a password are sent", "//{host}/a/:username=x\n//{host}/a/:_password=eQ==", "Basic eDp5", ""},
		"None":     {"a private registry needs credentials", "", "", "requires credentials, and .npmrc has none"},
		"Other":    {"credentials for another host are not sent", "//registry.example.org/:_authToken=s3cret", "", "requires credentials"},
		"Folder":   {"credentials for another folder are not sent", "//{host}/b/:_authToken=s3cret", "", "requires credentials"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clear(seen)
			_, err := get(t, open(t, registry, tc.npmrc), packageOf(data))
			if (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
			if seen["/a/-/a-1.0.0.tgz"] != tc.want || seen["/stored"] != "" {
				t.Errorf("%s: got %q, want %q for the registry only", tc.reason, seen, tc.want)
			}
		})
	}
}

// A server that fails for a while, or ends a response early, is asked again.
func TestGetTriesAgain(t *testing.T) {
	data := tarball(t, manifest)
	for name, fail := range map[string]http.HandlerFunc{
		"Unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"Cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data[:10])
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) < 3 {
					fail(w, r)
					return
				}
				_, _ = w.Write(data)
			}))
			defer server.Close()
			if _, err := get(t, open(t, server, ""), packageOf(data)); err != nil || asked.Load() != 3 {
				t.Errorf("got %v after %d requests", err, asked.Load())
			}
		})
	}
}

func TestGetLocal(t *testing.T) {
	data := tarball(t, manifest)
	root := t.TempDir()
	e2e.NoError(t, os.WriteFile(filepath.Join(root, "a.tgz"), data, 0o600))
	dir := filepath.Join(root, "fn")
	p, s := packageOf(data), open(t, nil, "")
	s.Offline = true
	p.Resolved = "file:../a.tgz"
	e2e.NoError(t, e2e.Err(s.Get(t.Context(), []*npm.Package{p}, dir, root)))
	p.Integrity = integrity([]byte("other"))
	e2e.ErrorHas(t, "a file outside of the project is an error", e2e.Err(s.Get(t.Context(), []*npm.Package{p}, dir, dir)), "outside of the project")
}

// FuzzGet checks that no tarball writes outside of its folder.
func FuzzGet(f *testing.F) {
	f.Add("package/x", byte(tar.TypeReg), "", "package/x/y")
	f.Add("package/x", byte(tar.TypeSymlink), "../../..", "package/x/y")
	f.Add("package/./x", byte(tar.TypeLink), "/etc/passwd", "../x")
	f.Fuzz(func(t *testing.T, first string, kind byte, link, second string) {
		var buf bytes.Buffer
		zip := gzip.NewWriter(&buf)
		w := tar.NewWriter(zip)
		for _, h := range []tar.Header{manifest, {Name: first, Typeflag: kind, Linkname: link}, {Name: second}} {
			if w.WriteHeader(&h) != nil {
				return
			}
		}
		_, _ = w.Close(), zip.Close()
		dir := t.TempDir()
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, "a.tgz"), buf.Bytes(), 0o600))
		p, s := packageOf(buf.Bytes()), &npm.Store{Dir: filepath.Join(dir, "npm"), Offline: true}
		p.Resolved = "file:a.tgz"
		_, _ = s.Get(t.Context(), []*npm.Package{p}, dir, dir)
		e2e.Equal(t, "nothing is written outside of the store", 2, len(e2e.Must(os.ReadDir(dir))(t)))
	})
}
