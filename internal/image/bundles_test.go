package image_test

import (
	"net/http"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// attach attaches a Sigstore bundle to the image at ref: a Statement that k signs, or text.
func attach(t *testing.T, ref name.Tag, k *signature.PrivateKey, predicateType, text string) {
	t.Helper()
	subject := e2e.Must(ggcr.Get(ref))(t)
	if text == "" {
		statement := e2e.Must(signature.Statement("r", subject.Digest, predicateType, []byte("{}")))(t)
		signed := e2e.Must(k.Attest(statement))(t)
		text = `{"mediaType":"` + signature.BundleType + `","verificationMaterial":{"publicKey":{"hint":"x"}},"dsseEnvelope":` + string(signed.Payload) + `}`
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), signature.BundleType)
	img = e2e.Must(mutate.Append(img, mutate.Addendum{Layer: static.NewLayer([]byte(text), signature.BundleType), MediaType: signature.BundleType}))(t)
	img, _ = mutate.Subject(img, subject.Descriptor).(v1.Image)
	digest := e2e.Must(img.Digest())(t)
	e2e.NoError(t, ggcr.Write(ref.Context().Digest(digest.String()), img))
}

// Verify finds the signatures and attestations of cosign v3, which are Sigstore bundles that
// refer to the image, in registries with and without a list of referrers. Others do not matter.
func TestBundles(t *testing.T) {
	t.Parallel()
	const signType, provenance = "https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1"
	for reason, handler := range map[string]http.Handler{"the registry has the referrers API": own(t), "the list of referrers is at a tag": remotetest.Handler()} {
		ref, key, other := parse(t, remotetest.Serve(t, handler)), remotetest.Key(t), remotetest.Key(t)
		pushed := e2e.Must(push.Artifact(t.Context(), ref, randomImage(t, "amd64"), push.Options{}))(t)
		digest, by, client := ref.Context().Digest(pushed.Digest.String()), publics(key), options().Remote
		attach(t, ref, key, provenance, "")
		attach(t, ref, other, signType, "")
		attach(t, ref, nil, "", "not a bundle")
		_, err := image.Verify(t.Context(), ref, by, client, nil)
		checkError(t, reason, err, ref, "has 2 signatures, but none by the key")
		attach(t, ref, key, signType, "")
		if got, err := image.Verify(t.Context(), ref, by, client, nil); err != nil || got.Signatures != 3 || got.By[0] != 1 {
			t.Errorf("%s: got %+v, error %v", reason, got, err)
		}
		e2e.WantError(t, reason, image.RequireAttestations(t.Context(), digest, []string{provenance}, by, client), "")
		err = image.RequireAttestations(t.Context(), digest, []string{"https://spdx.dev/Document"}, by, client)
		e2e.ErrorHas(t, reason, err, `none of its 1 attestations is of type "https://spdx.dev/Document"`)
	}
}
