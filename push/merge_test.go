package push_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// A copy keeps the signatures and attestations that only the destination has. A second copy
// changes nothing.
func TestCopyMerges(t *testing.T) {
	for name, serve := range map[string]func(*testing.T) string{
		"Embedded": func(t *testing.T) string { return remotetest.Serve(t, remotetest.Handler()) },
		"Real":     func(t *testing.T) string { return remotetest.Registry(t) },
	} {
		t.Run(name, func(t *testing.T) {
			host := serve(t)
			first, second, both := remotetest.SignKey(t), remotetest.SignKey(t), remotetest.SignKey(t)
			from := parse(t, host)
			to := from.Context().Registry.Repo("gold", "copy").Tag("v1.0.0")
			a := single(t)
			sign := func(at string, k *signature.PrivateKey) {
				ref := from
				if at == "to" {
					ref = to
				}
				o := push.Options{SignKey: k.Signer(), Attestations: []push.Attestation{{Type: spdx, Predicate: []byte("{}")}}}
				e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, a, o)))
			}
			sign("from", both)
			e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, push.CopyOptions{})))
			sign("from", first)
			sign("to", second)
			digest := e2e.Must(a.Digest())(t)
			var before []string
			for range 2 {
				e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, push.CopyOptions{})))
				if all, by := signatures(t, to, a, first, second, both); all != 3 || cmp.Diff([]int{1, 1, 1}, by) != "" {
					t.Errorf("the destination has %d signatures, by the keys %v", all, by)
				}
				img, all, err := image.Attestations(t.Context(), to.Context(), digest, remote.New(remote.Options{}))
				e2e.NoError(t, err)
				for _, k := range []*signature.PrivateKey{first, second, both} {
					e2e.Equal(t, "the attestations by a key", 1, len(signature.Attested(all, digest, k.Public())[spdx]))
				}
				h := e2e.Must(img.Digest())(t)
				before = append(before, h.String())
			}
			e2e.Equal(t, "the attestations before and after the second copy", before[1], before[0])
		})
	}
}

// If the list of signatures at the source disappears during a copy, the destination keeps
// its own.
func TestCopyMergesRemoved(t *testing.T) {
	reg := remotetest.Handler()
	var gets atomic.Int32
	host := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/gold/package/manifests/sha256-") && strings.HasSuffix(r.URL.Path, ".sig") && r.Method == http.MethodGet && gets.Add(1) > 2 {
			http.NotFound(w, r)
			return
		}
		reg.ServeHTTP(w, r)
	}))
	from, a := parse(t, host), single(t)
	to := from.Context().Registry.Repo("gold", "copy").Tag("v1.0.0")
	first, second := remotetest.SignKey(t), remotetest.SignKey(t)
	for ref, k := range map[name.Tag]*signature.PrivateKey{from: first, to: second} {
		e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), ref, a, push.Options{SignKey: k.Signer()})))
	}
	e2e.NoError(t, e2e.Err(push.Copy(t.Context(), from, to, push.CopyOptions{})))
	if all, by := signatures(t, to, a, first, second); all != 2 || cmp.Diff([]int{1, 1}, by) != "" {
		t.Errorf("after %d reads of the source, the destination has %d signatures, by the keys %v", gets.Load(), all, by)
	}
}

// A copy adds the attestations of its options.
func TestCopyAttests(t *testing.T) {
	from, a := parse(t, remotetest.Serve(t, remotetest.Handler())), single(t)
	e2e.NoError(t, e2e.Err(push.Artifact(t.Context(), from, a, push.Options{})))
	to := from.Context().Registry.Repo("gold", "copy").Tag("v1.0.0")
	k := remotetest.SignKey(t)
	o := push.Options{SignKey: k.Signer(), Attestations: []push.Attestation{{Type: spdx, Predicate: []byte("{}")}}}
	res := e2e.Must(push.Copy(t.Context(), from, to, push.CopyOptions{Options: o}))(t)
	_, all, err := image.Attestations(t.Context(), to.Context(), res.Digest, remote.New(remote.Options{}))
	if err != nil || len(signature.Attested(all, res.Digest, k.Public())[spdx]) != 1 {
		t.Errorf("the destination has %d attestations, error %v", len(all), err)
	}
}
