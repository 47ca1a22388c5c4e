package push_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// signatures returns the number of signatures of a at ref's repository, and the number
// of signatures by each key.
func signatures(t *testing.T, ref name.Tag, a xpkg.Artifact, keys ...*signature.PrivateKey) (all int, by []int) {
	t.Helper()
	h := e2e.Must(a.Digest())(t)
	found := found(t, ref, h)
	for _, k := range keys {
		by = append(by, k.Public().Count(found, h))
	}
	return len(found), by
}

func TestSign(t *testing.T) {
	mine, yours := remotetest.Key(t), remotetest.Key(t)
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	a := multi(t)
	steps := []struct {
		reason string
		key    *signature.PrivateKey
		signed bool
		by     []int
	}{
		{"without a key nothing is signed", nil, false, []int{0, 0}},
		{"a package that is at the tag already can be signed later", mine, true, []int{1, 0}},
		{"a key signs a package once", mine, false, []int{1, 0}},
		{"a second key adds its signature", yours, true, []int{1, 1}},
		{"a further signature by a key is not added", mine, false, []int{1, 1}},
		{"a push without a key keeps the signatures", nil, false, []int{1, 1}},
	}
	for _, s := range steps {
		got, err := push.Artifact(t.Context(), ref, a, push.Options{SignKey: s.key.Signer()})
		if err != nil {
			t.Fatalf("%s: %v", s.reason, err)
		}
		want := ""
		if s.key != nil {
			want = signature.Tag(ref.Context(), got.Digest).Name()
		}
		e2e.Equal(t, s.reason, want, got.Signature)
		e2e.Equal(t, s.reason, s.signed, got.Signed)
		if _, by := signatures(t, ref, a, mine, yours); cmp.Diff(s.by, by) != "" {
			t.Errorf("%s: the keys have %v signatures, want %v", s.reason, by, s.by)
		}
	}
}

// The signature is written before any tag is, and the package before its signature.
func TestSignOrder(t *testing.T) {
	requests := remotetest.Record(remotetest.Handler())
	ref := parse(t, remotetest.Serve(t, requests))
	got := e2e.Must(push.Artifact(t.Context(), ref, single(t), push.Options{SignKey: remotetest.Key(t).Signer(), Tags: []name.Tag{ref.Context().Tag("latest")}}))(t)
	var want []string
	for _, at := range []string{got.Digest.String(), signature.Tag(ref.Context(), got.Digest).TagStr(), "v1.0.0", "latest"} {
		want = append(want, "PUT /v2/gold/package/manifests/"+at)
	}
	e2e.Equal(t, "the package comes before its signature, and both before the tags", want, requests.Find("^PUT .*/manifests/"))
}

func TestSignDryRun(t *testing.T) {
	requests := remotetest.Record(remotetest.Handler())
	host := remotetest.Serve(t, requests)
	o := push.Options{SignKey: remotetest.Key(t).Signer(), DryRun: true}
	for _, signed := range []bool{true, false} {
		requests.Clear()
		got := e2e.Must(push.Artifact(t.Context(), parse(t, host), single(t), o))(t)
		if n := len(requests.Find(remotetest.Writes)); got.Signed != signed || !strings.HasSuffix(got.Signature, ".sig") || n != 0 {
			t.Errorf("a dry run reports signed %t at %q after %d writes", got.Signed, got.Signature, n)
		}
		o.DryRun = false
		e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), parse(t, host), single(t), o)))
		o.DryRun = true
	}
	// A registry may refuse to read a repository that does not exist yet.
	closed := remotetest.Serve(t, tokens(remotetest.Handler(), remotetest.Status(http.StatusForbidden)))
	o.Transport = remote.New(remote.Options{Keychain: keychain{"gold", "s3cret"}})
	if got, err := push.Artifact(t.Context(), parse(t, closed), single(t), o); err != nil || !got.Signed {
		t.Errorf("got %+v, error %v", got, err)
	}
}

// TestSignFaults pushes a signed package to a registry that fails from its nth request on,
// for every n. If the tag points to the new package after the push, the package must have
// the new signature. The signatures of another signer must remain.
func TestSignFaults(t *testing.T) {
	mine, yours := remotetest.Key(t), remotetest.Key(t)
	for n := int64(1); ; n++ {
		inner := remotetest.Handler()
		ref := parse(t, remotetest.Serve(t, inner))
		before, after := single(t), multi(t)
		for _, a := range []xpkg.Artifact{after, before} { // The second push moves the tag back to the old package.
			e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, a, push.Options{SignKey: yours.Signer()})))
		}
		var seen atomic.Int64
		flaky := parse(t, remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) >= n {
				remotetest.Status(http.StatusForbidden)(w, r)
				return
			}
			inner.ServeHTTP(w, r)
		})))
		o := fast()
		o.SignKey = mine.Signer()
		_, err := push.Artifact(t.Context(), flaky, after, o)
		_, by := signatures(t, ref, after, yours, mine)
		if by[0] != 1 {
			t.Fatalf("request %d: the other's signature is lost", n)
		}
		if seen.Load() < n {
			if err != nil || by[1] != 1 {
				t.Errorf("without faults: %d signatures, error %v", by[1], err)
			}
			return
		}
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("request %d: error %v", n, err)
		}
		if isAt(t, ref, after) && by[1] != 1 {
			t.Errorf("request %d: the tag is at a package without its signature", n)
		}
	}
}

// An index at the tag of the signatures is refused.
func TestSignOverOther(t *testing.T) {
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	a := single(t)
	h, err := a.Digest()
	e2e.NoError(t, err)
	idx, ok := multi(t).(v1.ImageIndex)
	if !ok {
		t.Fatal("no index")
	}
	e2e.NoError(t, ggcr.WriteIndex(signature.Tag(ref.Context(), h), idx))
	_, err = push.Artifact(t.Context(), ref, a, push.Options{SignKey: remotetest.Key(t).Signer()})
	want := `is an index and not an image of signatures; 3 of 3 blobs are in the registry, the package may be without its signature, tag "v1.0.0" was not changed`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want it to end in %q", err, want)
	}
}

func TestSignRealRegistry(t *testing.T) {
	host := remotetest.Registry(t)
	ref := e2e.Must(remote.ParseTag("xfn-test/signed:v1.0.0", host))(t)
	a, mine, yours := multi(t), remotetest.Key(t), remotetest.Key(t)
	for _, k := range []*signature.PrivateKey{mine, yours, mine} {
		e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, a, push.Options{SignKey: k.Signer()})))
	}
	if _, by := signatures(t, ref, a, mine, yours); cmp.Diff([]int{1, 1}, by) != "" {
		t.Errorf("the keys have %v signatures, want one each", by)
	}
}

// Signatures that cannot be read are not replaced.
func TestSignUnread(t *testing.T) {
	mine, yours := remotetest.Key(t), remotetest.Key(t)
	inner := remotetest.Handler()
	ref, a := parse(t, remotetest.Serve(t, inner)), single(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, a, push.Options{SignKey: yours.Signer()})))
	closed := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, `^GET .*\.sig$`, remotetest.Status(http.StatusForbidden))))
	o := push.Options{SignKey: mine.Signer(), Tags: []name.Tag{closed.Context().Tag("latest")}}
	_, err := push.Artifact(t.Context(), closed, a, o)
	e2e.ErrorHas(t, "a signature that cannot be read is an error", err, `denied access without credentials; all blobs are in the registry, the package may be without its signature`)
	if _, by := signatures(t, ref, a, yours); by[0] != 1 {
		t.Error("the other's signature is lost")
	}
	if isAt(t, ref.Context().Tag("latest"), a) {
		t.Error("a tag moved to a package without its signature")
	}
}
