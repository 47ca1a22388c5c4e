package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/registry"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// pushCorpus has package files, and the results of the crossplane CLI's push.
const pushCorpus = "../../testdata/golden/xpkg/push"

// TestPushCorpus pushes each case in a separate process, to the registry of xfn and to
// the Docker registry. The exit code and the tag must be the same as with the
// crossplane CLI. If differences.yaml lists the case, they must differ.
func TestPushCorpus(t *testing.T) {
	t.Parallel()
	known := knownDifferences(t, "push")
	cases, err := os.ReadDir(pushCorpus)
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases: %v", len(cases), err)
	}
	for name, serve := range map[string]func(*testing.T) pushServers{"ours": ourServers, "docker-registry": dockerServers} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := serve(t)
			for _, c := range cases {
				_, listed := known[c.Name()]
				t.Run(c.Name(), func(t *testing.T) {
					t.Parallel()
					comparePush(t, servers, filepath.Join(pushCorpus, c.Name()), listed)
				})
			}
		})
	}
	for name := range known {
		e2e.WantError(t, fmt.Sprintf("differences.yaml names %q, which is not a case", name), e2e.Err(os.Stat(filepath.Join(pushCorpus, name))), "")
	}
}

// pushServers are addresses of one registry: without protection, with the login
// gold:s3cret, with TLS, and read-only.
type pushServers struct {
	plain, users, signed, readOnly string
	// ca is the file of the CA certificate.
	ca string
}

// ourServers starts the registry of xfn.
func ourServers(t *testing.T) pushServers {
	t.Helper()
	reg := e2e.Must(registry.Open(filepath.Join(t.TempDir(), "registry")))(t)
	t.Cleanup(func() {
		e2e.NoError(t, reg.Close())
	})
	readOnly := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		reg.ServeHTTP(w, r)
	})
	cert := remotetest.NewCertificate(t)
	return pushServers{
		plain:    remotetest.Serve(t, reg),
		users:    remotetest.Serve(t, remotetest.BasicAuth(reg, "gold", "s3cret")),
		signed:   cert.Serve(t, reg),
		readOnly: remotetest.Serve(t, readOnly),
		ca:       cert.CA,
	}
}

// dockerServers starts Docker's registry.
func dockerServers(t *testing.T) pushServers {
	t.Helper()
	dir, cert := t.TempDir(), remotetest.NewCertificate(t)
	return pushServers{
		plain:    remotetest.Distribution{Dir: dir}.Start(t),
		users:    remotetest.Distribution{Dir: dir, User: "gold", Password: "s3cret"}.Start(t),
		signed:   remotetest.Distribution{Dir: dir, Certificate: cert}.Start(t),
		readOnly: remotetest.Distribution{Dir: dir, ReadOnly: true}.Start(t),
		ca:       cert.CA,
	}
}

// A pushSite is the directory and the registries of a case.
type pushSite struct {
	pushServers
	tmp   string
	ports *strings.Replacer
}

func newPushSite(t *testing.T, servers pushServers, dir string) pushSite {
	t.Helper()
	_, port, _ := strings.Cut(servers.signed, ":")
	s := pushSite{pushServers: servers, tmp: t.TempDir(), ports: strings.NewReplacer(
		"127.0.0.1:5055", servers.plain,
		"127.0.0.1:5056", servers.users,
		"127.0.0.1:5057", servers.signed, "localhost:5057", "localhost:"+port,
		"127.0.0.1:5058", servers.readOnly,
	)}
	s.copy(t, filepath.Join(dir, "in"), "case")
	s.copy(t, filepath.Join(dir, "helper"), "helper")
	cert := filepath.Join(s.tmp, "reg", "cert.pem")
	e2e.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(cert), 0o755), os.WriteFile(cert, []byte(e2e.ReadFile(t, servers.ca)), 0o600)))
	return s
}

// copy copies a directory, if it exists. In its files, it replaces the ports of the
// recording by the ports of this site's registries.
func (s pushSite) copy(t *testing.T, from, to string) {
	t.Helper()
	to = filepath.Join(s.tmp, to)
	err := os.MkdirAll(to, 0o755)
	if _, absent := os.Stat(from); absent == nil {
		err = errors.Join(err, os.CopyFS(to, os.DirFS(from)))
	}
	if err == nil {
		err = filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".xpkg") {
				return err
			}
			return errors.Join(os.WriteFile(path, []byte(s.ports.Replace(e2e.ReadFile(t, path))), 0o700), os.Chmod(path, 0o700))
		})
	}
	e2e.NoError(t, err)
}

// run runs the program with a case's environment.
func (s pushSite) run(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for i := range args {
		args[i] = s.ports.Replace(strings.ReplaceAll(args[i], "{tmp}", s.tmp))
	}
	cmd := e2e.Command(t, args...)
	home := filepath.Join(s.tmp, "home")
	cmd.Dir = filepath.Join(s.tmp, "case")
	cmd.Env = append(os.Environ(), "HOME="+home, "DOCKER_CONFIG="+home, "XDG_RUNTIME_DIR="+home)
	for line := range strings.Lines(optional(t, filepath.Join(dir, "env"))) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "{tmp}", s.tmp)
		cmd.Env = append(cmd.Env, strings.ReplaceAll(line, "$PATH", os.Getenv("PATH")))
	}
	return runCommand(t, cmd)
}

// comparePush pushes a case and compares the result.
func comparePush(t *testing.T, servers pushServers, dir string, listed bool) {
	if runtime.GOOS == "windows" && strings.Contains(dir, "cred-helper") {
		t.Skip("the helper is a shell script")
	}
	s := newPushSite(t, servers, dir)
	if before := optional(t, filepath.Join(dir, "before.txt")); before != "" {
		var commands [][]string
		e2e.NoError(t, json.Unmarshal([]byte(before), &commands))
		for _, args := range commands {
			if code, _, stderr := s.run(t, dir, args...); code != done {
				t.Fatalf("%v: %s", args, stderr)
			}
		}
	}
	args := strings.Split(strings.TrimSuffix(e2e.ReadFile(t, filepath.Join(dir, "args")), "\n"), "\n")
	code, stdout, stderr := s.run(t, dir, append([]string{"xpkg", "push", "--retry=0"}, args...)...)
	if strings.Contains(stdout+stderr, "s3cret") {
		t.Errorf("the output contains the password: %s%s", stdout, stderr)
	}
	want := strings.TrimSpace(e2e.ReadFile(t, filepath.Join(dir, "exit")))
	diff := ""
	if (want == "0") != (code == done) {
		diff = fmt.Sprintf("exit code %d, the crossplane CLI's is %s: %s", code, want, stderr)
	} else if pushed := optional(t, filepath.Join(dir, "registry.json")); pushed != "" {
		diff = cmp.Diff(goldenTag(t, pushed), s.tag(t, pushed))
	}
	switch {
	case listed && diff == "":
		t.Error("differences.yaml names this case, but its output is equal")
	case !listed && diff != "":
		t.Errorf("%s%s", e2e.ReadFile(t, filepath.Join(dir, "about.txt")), diff)
	}
}

// TestCAFile: push and pull trust a registry with the CA in --ca-file.
func TestCAFile(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*testing.T) pushServers{"ours": ourServers, "docker-registry": dockerServers} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(pushCorpus, "tls-self-signed")
			s := newPushSite(t, serve(t), dir)
			const ref = "127.0.0.1:5057/gold/ca:v1.0.0"
			for _, tc := range []struct {
				reason string
				code   int
				args   []string
			}{
				{"push fails without the CA", failed, []string{"xpkg", "push", "-f", "a.xpkg", ref}},
				{"push succeeds with the CA file", done, []string{"xpkg", "push", "-f", "a.xpkg", ref, "--ca-file={tmp}/reg/cert.pem"}},
				{"pull fails without the CA", failed, []string{"xpkg", "pull", ref, "-o", "b.xpkg"}},
				{"pull succeeds with the CA file", done, []string{"xpkg", "pull", ref, "-o", "b.xpkg", "--ca-file={tmp}/reg/cert.pem"}},
				{"a missing CA file is a usage error", misuse, []string{"xpkg", "pull", ref, "--ca-file={tmp}/reg/none.pem"}},
			} {
				if code, _, stderr := s.run(t, dir, tc.args...); code != tc.code {
					t.Errorf("%s: exit code %d, want %d: %s", tc.reason, code, tc.code, stderr)
				}
			}
		})
	}
}

// A pushedShape has the parts of a manifest that must be equal: descriptors and
// annotations, but not media types.
type pushedShape struct {
	Config      string
	Annotations map[string]string
	Layers      []pushedLayer
	Children    []pushedShape
	Platforms   []v1.Platform
}

type pushedLayer struct {
	Digest      string
	Annotations map[string]string
}

// goldenTag returns the tag that the crossplane CLI pushed, or the zero value.
func goldenTag(t *testing.T, registry string) pushedShape {
	t.Helper()
	var entries map[string]struct {
		Body json.RawMessage
	}
	e2e.NoError(t, json.Unmarshal([]byte(registry), &entries))
	byDigest := map[string]json.RawMessage{}
	top := entries[tagOf(t, registry)].Body
	for ref, entry := range entries {
		if _, digest, ok := strings.Cut(ref, "@"); ok {
			byDigest[digest] = entry.Body
		}
	}
	if strings.HasPrefix(string(top), `"`) {
		return pushedShape{} // The body is the JSON string of a 404 response.
	}
	return shapeOf(t, top, func(digest string) json.RawMessage { return byDigest[digest] })
}

// tagOf returns the entry of a case's registry.json that is a tag.
func tagOf(t *testing.T, registry string) string {
	t.Helper()
	var entries map[string]json.RawMessage
	e2e.NoError(t, json.Unmarshal([]byte(registry), &entries))
	for ref := range entries {
		if !strings.Contains(ref, "@") {
			return ref
		}
	}
	t.Fatal("no tag was recorded")
	return ""
}

// tag returns the current content of the tag.
func (s pushSite) tag(t *testing.T, registry string) pushedShape {
	t.Helper()
	repo, tag, _ := strings.Cut(tagOf(t, registry), ":")
	get := func(reference string) json.RawMessage { return fetchManifest(t, s.plain, repo, reference) }
	top := get(tag)
	if top == nil {
		return pushedShape{}
	}
	return shapeOf(t, top, get)
}

func fetchManifest(t *testing.T, host, repo, reference string) json.RawMessage {
	t.Helper()
	req := e2e.Must(http.NewRequestWithContext(e2e.Context(t), http.MethodGet, "http://"+host+"/v2/"+repo+"/manifests/"+reference, nil))(t)
	for _, accepted := range []types.MediaType{types.OCIImageIndex, types.OCIManifestSchema1, types.DockerManifestList, types.DockerManifestSchema2} {
		req.Header.Add("Accept", string(accepted))
	}
	resp := e2e.Must(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil
	}
	var raw json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&raw); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", reference, resp.Status, err)
	}
	return raw
}

func shapeOf(t *testing.T, raw json.RawMessage, get func(digest string) json.RawMessage) pushedShape {
	t.Helper()
	var m struct {
		Config      struct{ Digest string }
		Annotations map[string]string
		Layers      []pushedLayer
		Manifests   []struct {
			Digest   string
			Platform *v1.Platform
		}
	}
	e2e.NoError(t, json.Unmarshal(raw, &m))
	s := pushedShape{Config: m.Config.Digest, Annotations: m.Annotations, Layers: m.Layers}
	for _, child := range m.Manifests {
		s.Children = append(s.Children, shapeOf(t, get(child.Digest), get))
		s.Platforms = append(s.Platforms, *child.Platform)
	}
	return s
}
