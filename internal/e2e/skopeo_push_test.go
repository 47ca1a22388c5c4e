package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A skopeoSite is a registry, with the flags to push to it and to copy from it.
type skopeoSite struct {
	host         string
	push, copies []string
}

// TestSkopeoCopiesPushed: skopeo can copy packages that xfn pushed: all images
// of an index, with unchanged digests.
func TestSkopeoCopiesPushed(t *testing.T) {
	t.Parallel()
	skopeoCommand(t)
	dir := writeInputs(t)
	files := map[string]string{}
	for name, tc := range builtPackages {
		files[name] = buildPackage(t, dir, name, tc)
	}
	for registry, serve := range map[string]func(*testing.T) pushServers{"ours": ourServers, "docker-registry": dockerServers} {
		t.Run(registry, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			login := writeLogin(t, s.users)
			for kind, site := range map[string]skopeoSite{
				"plain":    {s.plain, nil, []string{"--src-tls-verify=false"}},
				"htpasswd": {s.users, nil, []string{"--src-tls-verify=false", "--src-creds=gold:s3cret"}},
				"tls":      {s.signed, []string{"--ca-file", s.ca}, []string{"--src-cert-dir", filepath.Dir(s.ca)}},
			} {
				for name, file := range files {
					t.Run(kind+"/"+name, func(t *testing.T) {
						t.Parallel()
						site.thereAndOut(t, login, file, kind+"/"+strings.ToLower(name)+":v1")
					})
				}
			}
		})
	}
}

// writeLogin writes a Docker configuration with a login, and returns its folder.
func writeLogin(t *testing.T, host string) string {
	t.Helper()
	dir := t.TempDir()
	auths := fmt.Sprintf(`{"auths": {%q: {"username": "gold", "password": "s3cret"}}}`, host)
	e2e.WriteFile(t, filepath.Join(dir, "config.json"), auths)
	return dir
}

// thereAndOut pushes a package with xfn, and copies it with skopeo.
func (s skopeoSite) thereAndOut(t *testing.T, login, file, name string) {
	t.Helper()
	skopeo, ref := skopeoCommand(t), s.host+"/"+name
	args := append([]string{"xpkg", "push", "-f", file, ref}, s.push...)
	cmd := e2e.Command(t, args...)
	cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+login)
	e2e.Output(t, cmd)
	unpacked := e2e.Untar(t, file)
	out, raw := filepath.Join(t.TempDir(), "oci"), filepath.Join(t.TempDir(), "dir")
	skopeo(append([]string{"copy", "--all", "docker://" + ref, "oci:" + out + ":v1"}, s.copies...)...)
	assertSame(t, layoutImages(t, unpacked), layoutImages(t, out))
	skopeo(append([]string{"copy", "--all", "docker://" + ref, "dir:" + raw}, s.copies...)...)
	e2e.Equal(t, "the manifest stays the same", topManifest(t, unpacked), e2e.ReadFile(t, filepath.Join(raw, "manifest.json")))
}
