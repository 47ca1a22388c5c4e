package push_test

import (
	"crypto/x509"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// A package that is pushed to Docker's registry, with each kind of authentication, is
// complete: every image has one layer that is marked as the package.
func TestRealRegistry(t *testing.T) {
	cert := remotetest.NewCertificate(t)
	for name, site := range map[string]struct {
		registry remotetest.Distribution
		options  remote.Options
	}{
		"Plain": {},
		"Users": {
			remotetest.Distribution{User: "gold", Password: "s3cret"},
			remote.Options{Keychain: keychain{"gold", "s3cret"}},
		},
		"TLS": {
			remotetest.Distribution{Certificate: cert},
			remote.Options{RootCAs: roots(t, cert)},
		},
		"Both": {
			remotetest.Distribution{User: "gold", Password: "s3cret", Certificate: cert},
			remote.Options{Keychain: keychain{"gold", "s3cret"}, RootCAs: roots(t, cert)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			host, client := site.registry.Start(t), remote.New(site.options)
			for name, a := range map[string]xpkg.Artifact{"image": single(t), "index": multi(t)} {
				ref := e2e.Must(remote.ParseTag("xfn-test/"+name+":v1.0.0", host))(t)
				result := e2e.Must(push.Artifact(t.Context(), ref, a, push.Options{Transport: client}))(t)
				got := e2e.Must(image.Artifact(t.Context(), ref, image.Options{Remote: client}))(t)
				if digest, err := got.Digest(); err != nil || digest != result.Digest {
					t.Fatalf("%s: got %s, %v, want %s", ref, digest, err, result.Digest)
				}
				checkPackages(t, got)
			}
		})
	}
}

// roots returns a pool with the issuer of a certificate.
func roots(t *testing.T, c *remotetest.Certificate) *x509.CertPool {
	t.Helper()
	pem := []byte(e2e.ReadFile(t, c.CA))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return pool
}

// checkPackages reads all images of an artifact.
func checkPackages(t *testing.T, a xpkg.Artifact) {
	t.Helper()
	images, err := xpkg.Images(a)
	if err != nil || len(images) == 0 {
		t.Fatalf("got %d images, %v", len(images), err)
	}
	for _, i := range images {
		e2e.NoError(t, validate.Image(i.Image))
		e2e.Equal(t, "the layers that are marked as base", 1, marks(t, i.Image))
	}
}

func marks(t *testing.T, img v1.Image) (n int) {
	t.Helper()
	for _, l := range e2e.Must(img.Manifest())(t).Layers {
		if l.Annotations[xpkg.Annotation] == "base" {
			n++
		}
	}
	return n
}
