package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// A verifier runs the verifier of Crossplane's ImageConfigs, which is compiled from
// tools/imageconfig.
type verifier struct {
	path string
	env  []string
	args []string
}

// program returns the path of a program that make verifiers compiles.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("XFN_TEST_VERIFIERS")
	if dir == "" {
		e2e.Missing(t, "verifiers", "XFN_TEST_VERIFIERS does not name the directory of the verifiers; make test-verifiers compiles them")
	}
	return filepath.Join(dir, name)
}

// newVerifier returns a verifier that trusts a log and a certificate authority.
func newVerifier(t *testing.T, log *remotetest.Log, root []byte, args ...string) verifier {
	t.Helper()
	path := program(t, "imageconfig")
	dir := t.TempDir()
	authority := filepath.Join(dir, "root.pem")
	e2e.NoError(t, os.WriteFile(authority, root, 0o600))
	env := append(os.Environ(), "SIGSTORE_REKOR_PUBLIC_KEY="+log.File, "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE="+log.File)
	return verifier{path, env, append(args, "-root", authority)}
}

// verify returns why the image at ref is not valid, or "".
func (v verifier) verify(t *testing.T, ref name.Reference) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), v.path, append(slices.Clone(v.args), ref.Name())...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = v.env, &stderr
	if err := cmd.Run(); err != nil {
		return err.Error() + ": " + stderr.String()
	}
	return ""
}

// signed pushes a signed image and returns its reference.
func signed(t *testing.T, o push.Options) name.Tag {
	t.Helper()
	ref := e2e.Must(name.NewTag(remotetest.Serve(t, remotetest.Handler()) + "/acme/conf:v1.0.0"))(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, remotetest.Image(t, v1.Config{}), o)))
	return ref
}

// Crossplane's own verifier accepts a package that was signed with a key and published in a
// log, and refuses tampered ones.
func TestImageConfigKey(t *testing.T) {
	log, other := remotetest.ServeLog(t), remotetest.ServeLog(t)
	authority := remotetest.ServeAuthority(t)
	key := remotetest.SignKey(t)
	pub := e2e.Must(key.Public().PEM())(t)
	file := filepath.Join(t.TempDir(), "key.pub")
	e2e.NoError(t, os.WriteFile(file, pub, 0o600))
	v := newVerifier(t, log, authority.Root, "-key", file)
	o := push.Options{SignKey: key.Signer(), Log: &push.Log{URL: log.URL, Key: log.PEM}}
	ref := signed(t, o)
	if why := v.verify(t, ref); why != "" {
		t.Fatalf("the package is refused: %s", why)
	}
	plain := o
	plain.Log = nil
	e2e.Has(t, "without a log entry, the result is", v.verify(t, signed(t, plain)), "rekor client not provided")
	for name, tc := range tampered(t, other, o) {
		t.Run(name, func(t *testing.T) {
			ref := signed(t, o)
			tc.tamper(t, ref)
			e2e.Has(t, tc.reason, v.verify(t, ref), tc.want)
		})
	}
}

type tampering struct {
	reason string
	tamper func(t *testing.T, ref name.Tag)
	want   string
}

// tampered returns changes of a package that was pushed with o. Another log is other.
func tampered(t *testing.T, other *remotetest.Log, o push.Options) map[string]tampering {
	t.Helper()
	bundle := func(change func(b map[string]any)) func(*testing.T, name.Tag) {
		return func(t *testing.T, ref name.Tag) {
			rewrite(t, ref, func(s *signature.Signature) {
				var b map[string]any
				e2e.NoError(t, json.Unmarshal(s.Bundle, &b))
				change(b)
				s.Bundle, _ = json.Marshal(b)
			})
		}
	}
	payload := func(b map[string]any) map[string]any { return b["Payload"].(map[string]any) }
	return map[string]tampering{
		"Content": {"the tag was moved to another image with the signatures of the first", func(t *testing.T, ref name.Tag) {
			img := remotetest.Image(t, v1.Config{User: "root"})
			digest := e2e.Must(img.Digest())(t)
			desc := e2e.Must(ggcr.Get(ref))(t)
			signatures := e2e.Must(ggcr.Image(signature.Tag(ref.Context(), desc.Digest)))(t)
			write(t, ref, img)
			write(t, signature.Tag(ref.Context(), digest), signatures)
		}, "invalid or missing digest in claim"},
		"Payload": {"the signed document was changed", func(t *testing.T, ref name.Tag) {
			rewrite(t, ref, func(s *signature.Signature) {
				s.Payload = bytes.Replace(s.Payload, []byte("cosign"), []byte("cosine"), 1)
			})
		}, "matching bundle to payload"},
		"Signature": {"the signature was changed", func(t *testing.T, ref name.Tag) {
			rewrite(t, ref, func(s *signature.Signature) { s.Value[len(s.Value)-1] ^= 1 })
		}, "signature in bundle does not match"},
		"Time": {"the time of the log entry was changed", bundle(func(b map[string]any) {
			payload(b)["integratedTime"] = payload(b)["integratedTime"].(float64) + 1
		}), "unable to verify SET"},
		"Timestamp": {"the signed entry timestamp was changed", bundle(func(b map[string]any) {
			b["SignedEntryTimestamp"] = base64.StdEncoding.EncodeToString([]byte("x"))
		}), "unable to verify SET"},
		"OtherLog": {"the entry is of another log", func(t *testing.T, ref name.Tag) {
			rewrite(t, ref, func(s *signature.Signature) { *s = signature.Signature{} })
			o.Log = &push.Log{URL: other.URL}
			e2e.NoError(t, e2e.Err(push.Sign(t.Context(), ref, o)))
		}, "rekor log public key not found"},
		"None": {"the signature was removed", func(t *testing.T, ref name.Tag) {
			rewrite(t, ref, func(s *signature.Signature) { *s = signature.Signature{} })
		}, "signature verification failed"},
	}
}

// rewrite changes the first signature of the image at ref.
func rewrite(t *testing.T, ref name.Tag, change func(*signature.Signature)) {
	t.Helper()
	desc := e2e.Must(ggcr.Get(ref))(t)
	tag := signature.Tag(ref.Context(), desc.Digest)
	img := e2e.Must(ggcr.Image(tag))(t)
	all, err := signature.Read(img)
	e2e.NoError(t, err)
	change(&all[0])
	if img, err = signature.Append(nil, all[0]); err != nil {
		t.Fatal(err)
	}
	write(t, tag, img)
}

func write(t *testing.T, ref name.Tag, img v1.Image) {
	t.Helper()
	e2e.NoError(t, ggcr.Write(ref, img))
}

// Crossplane's own verifier accepts a package that was signed with an identity token, for
// that identity only.
func TestImageConfigKeyless(t *testing.T) {
	const subject = "https://ci.example.org/acme/conf/release.yml"
	log, authority := remotetest.ServeLog(t), remotetest.ServeAuthority(t)
	ref := signed(t, push.Options{
		Keyless: &push.Keyless{URL: authority.URL, Token: authority.Token(subject, time.Hour)},
		Log:     &push.Log{URL: log.URL},
	})
	for identity, want := range map[string]string{subject: "", subject + "x": "none of the expected identities matched"} {
		v := newVerifier(t, log, authority.Root, "-ignore-sct", "-issuer", remotetest.Issuer, "-subject", identity)
		if why := v.verify(t, ref); (want == "") != (why == "") || !strings.Contains(why, want) {
			t.Errorf("for identity %q, the result is %q, want %q", identity, why, want)
		}
	}
	other := newVerifier(t, log, remotetest.ServeAuthority(t).Root, "-ignore-sct", "-issuer", remotetest.Issuer, "-subject", subject)
	e2e.Has(t, "a signature of another authority is rejected", other.verify(t, ref), "x509: certificate signed by unknown authority")
}
