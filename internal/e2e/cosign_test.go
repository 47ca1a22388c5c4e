package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// A cosigner runs cosign, which is compiled from tools/imageconfig, in a directory with a
// key pair.
type cosigner struct {
	path, dir string
	env       []string
	key       *signature.PrivateKey
}

func newCosigner(t *testing.T, log *remotetest.Log) cosigner {
	t.Helper()
	c := cosigner{path: program(t, "cosign"), dir: t.TempDir(), key: remotetest.SignKey(t)}
	c.env = append(os.Environ(), "HOME="+c.dir, "COSIGN_PASSWORD=s3cret", "SIGSTORE_REKOR_PUBLIC_KEY="+log.File)
	private := e2e.Must(c.key.Encrypt([]byte("s3cret")))(t)
	public := e2e.Must(c.key.Public().PEM())(t)
	for name, text := range map[string][]byte{"cosign.key": private, "cosign.pub": public} {
		e2e.NoError(t, os.WriteFile(filepath.Join(c.dir, name), text, 0o600))
	}
	return c
}

// run runs cosign and returns its output. It fails the test unless cosign succeeds.
func (c cosigner) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.path, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cosign %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// verify verifies that the key signed the manifest at ref.
func (c cosigner) verify(t *testing.T, ref name.Reference) image.Verification {
	t.Helper()
	v := e2e.Must(image.Verify(t.Context(), ref, []signature.Verifier{c.key.Public()}, remote.New(remote.Options{}), func(progress.Event) {}))(t)
	return v
}

// cosign reads a key that we encrypted, and verifies signatures that we made and published
// in a log. We verify signatures that cosign made and published there.
func TestCosign(t *testing.T) {
	log := remotetest.ServeLog(t)
	c := newCosigner(t, log)
	ours := signed(t, push.Options{SignKey: c.key.Signer(), Log: &push.Log{URL: log.URL, Key: log.PEM}})
	e2e.Has(t, "cosign verifies the claims in the transparency log", c.run(t, "verify", "--key", "cosign.pub", ours.Name()), "Existence of the claims in the transparency log was verified offline")
	theirs := signed(t, push.Options{})
	c.run(t, "sign", "--key", "cosign.key", "--rekor-url", log.URL, "--new-bundle-format=false", "--use-signing-config=false", "-y", theirs.Name())
	c.verify(t, theirs)
	bundled := signed(t, push.Options{})
	c.run(t, "sign", "--key", "cosign.key", "--rekor-url", log.URL, "--use-signing-config=false", "-y", bundled.Name())
	if v := c.verify(t, bundled); v.Signatures != 1 {
		t.Errorf("there are %d signatures, want 1", v.Signatures)
	}
	// A push with the same key and log adds nothing.
	res, err := push.Sign(t.Context(), theirs, push.Options{SignKey: c.key.Signer(), Log: &push.Log{URL: log.URL, Key: log.PEM}})
	if err != nil || res.Signed {
		t.Errorf("after cosign signed, Sign signs again (%t), error %v", res.Signed, err)
	}
}

// cosign and Crossplane verify attestations that we made and published in a log. We verify
// an attestation that cosign made.
func TestCosignAttestations(t *testing.T) {
	const provenance = "https://slsa.dev/provenance/v1"
	log := remotetest.ServeLog(t)
	c := newCosigner(t, log)
	predicate := []byte(`{"buildDefinition":{"buildType":"https://example.org/build","externalParameters":{}},"runDetails":{"builder":{"id":"https://example.org/builder"}}}`)
	e2e.NoError(t, os.WriteFile(filepath.Join(c.dir, "predicate.json"), predicate, 0o600))
	ours := signed(t, push.Options{
		SignKey: c.key.Signer(), Log: &push.Log{URL: log.URL, Key: log.PEM},
		Attestations: []push.Attestation{{Type: provenance, Predicate: predicate}, {Type: "https://spdx.dev/Document", Predicate: []byte(`{"spdxVersion":"SPDX-2.3"}`)}},
	})
	c.run(t, "verify-attestation", "--key", "cosign.pub", "--type", "slsaprovenance1", "--new-bundle-format=false", ours.Name())
	c.run(t, "verify-attestation", "--key", "cosign.pub", "--type", "spdxjson", "--new-bundle-format=false", ours.Name())
	for predicateType, want := range map[string]string{provenance: "", "https://spdx.dev/Document": "", "https://cyclonedx.org/bom": "no attestation of type"} {
		v := newVerifier(t, log, remotetest.ServeAuthority(t).Root, "-key", filepath.Join(c.dir, "cosign.pub"), "-predicate-type", predicateType)
		if why := v.verify(t, ours); (want == "") != (why == "") || !strings.Contains(why, want) {
			t.Errorf("for the type %q, Crossplane says %q, want %q", predicateType, why, want)
		}
	}

	for _, bundle := range []string{"true", "false"} {
		theirs := signed(t, push.Options{SignKey: c.key.Signer()})
		c.run(t, "attest", "--key", "cosign.key", "--type", "slsaprovenance1", "--predicate", "predicate.json", "--rekor-url", log.URL,
			"--new-bundle-format="+bundle, "--use-signing-config=false", "-y", theirs.Name())
		digest := theirs.Context().Digest(c.verify(t, theirs).Digest.String())
		keys := []signature.Verifier{c.key.Public()}
		e2e.WantError(t, fmt.Sprintf("with --new-bundle-format=%s", bundle), image.RequireAttestations(t.Context(), digest, []string{provenance}, keys, remote.New(remote.Options{})), "")
	}
}

// We verify a signature that cosign made with an identity token, in both formats.
func TestCosignKeyless(t *testing.T) {
	const subject = "https://ci.example.org/acme/conf/release.yml"
	log, authority := remotetest.ServeLog(t), remotetest.ServeAuthority(t)
	c := newCosigner(t, log)
	logKey := e2e.Must(signature.ParseLogKey(log.PEM))(t)
	identity := e2e.Must(signature.NewIdentity(regexp.MustCompile(subject), remotetest.Issuer, authority.Root, logKey, nil))(t)
	e2e.WriteFile(t, filepath.Join(c.dir, "token.txt"), authority.Token(subject, time.Hour))
	for _, bundle := range []string{"true", "false"} {
		ref := signed(t, push.Options{})
		c.run(t, "sign", "--fulcio-url", authority.URL, "--identity-token", "token.txt", "--insecure-skip-verify",
			"--rekor-url", log.URL, "--new-bundle-format="+bundle, "--use-signing-config=false", "-y", ref.Name())
		if _, err := image.Verify(t.Context(), ref, []signature.Verifier{identity}, remote.New(remote.Options{}), func(progress.Event) {}); err != nil {
			t.Errorf("with --new-bundle-format=%s: %v", bundle, err)
		}
	}
}
