package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
)

// VerifyCmd verifies a package in a registry.
type VerifyCmd struct {
	Package string `arg:"" surplus:"as in xfn xpkg verify registry.example.org/acme/hello:v0.1.0 --key cosign.pub" help:"What to verify: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`

	Key                []flags.KeySource `sep:"none" placeholder:"FILE" help:"Public key in PEM, as a file or env://NAME. Repeatable: a signature by one of them is enough."`
	RequireAttestation []string          `sep:"none" placeholder:"TYPE" help:"Require an attestation of this type by one of the keys, or the identity: spdx, cyclonedx, slsaprovenance1, test-result or a URI. Repeatable."`

	flags.Identity `group:"Identity:"`

	flags.Patience
	terminal.Format
	registryFlags
}

// Help is shown by --help.
func (VerifyCmd) Help() string {
	return `Verifies that the digest at the reference has a signature that xfn xpkg push --sign-key or cosign made with the key, or with a certificate for the identity. Then reads each manifest, config and layer of all platforms and compares it with its digest; nothing is stored. Does not check transparency logs of signatures by keys. Prints the reference with the digest.

Exit codes: 0 verified, 1 not verified, 2 usage error.

Examples:

    xfn xpkg verify registry.example.org/acme/hello:v0.1.0 --key cosign.pub
    xfn xpkg verify registry.example.org/acme/hello:v0.1.0 \
        --certificate-identity me@example.org \
        --certificate-oidc-issuer https://accounts.example.org
`
}

// Run verifies, and prints the result.
func (c *VerifyCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	ref, err := c.signed(c.Package)
	if err != nil {
		return err
	}
	if len(c.Key) == 0 && !c.IsSet() {
		return &terminal.UsageError{Err: hint.Wrap(errors.New("expected --key or --certificate-identity"), "name the public key of the signature, as in --key cosign.pub")}
	}
	by, err := c.Verifiers(c.Key)
	if err != nil {
		return err
	}
	required, err := flags.PredicateTypes(c.RequireAttestation)
	if err != nil {
		return err
	}
	client := c.PatientClient(p, c.Patience)
	res, err := image.Verify(ctx, ref, by, client, term.Progress)
	if err != nil {
		return err
	}
	if err := image.RequireAttestations(ctx, ref.Context().Digest(res.Digest.String()), required, by, client); err != nil {
		return err
	}
	return c.print(term, ref, res)
}

// signed parses the reference of a package whose signatures are read or written.
func (f registryFlags) signed(from string) (name.Reference, error) {
	if isFile(from) {
		return nil, hint.Wrap(fmt.Errorf("expected a package in a registry, got the file %q", from), "name the reference to which the file was pushed: signatures are in registries")
	}
	return f.Reference(from)
}

// verified is the output of xfn xpkg verify --format json.
type verified struct {
	Reference string   `json:"reference"`
	Digest    string   `json:"digest"`
	MediaType string   `json:"mediaType"`
	Platforms []string `json:"platforms,omitempty"`
	// Signatures counts the signatures of the digest by any key, and Keys the
	// signatures by each given key.
	Signatures int         `json:"signatures"`
	Keys       []keyResult `json:"keys"`
	// IdentitySignatures counts the signatures by the identity.
	IdentitySignatures int `json:"identitySignatures,omitempty"`
	// Blobs counts the blobs whose digest was verified, and Bytes their bytes.
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// Elsewhere are the digests of layers that were not checked, because registries do
	// not store them.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

type keyResult struct {
	Key        string `json:"key"`
	Signatures int    `json:"signatures"`
}

func (c *VerifyCmd) print(term *terminal.Terminal, ref name.Reference, r image.Verification) error {
	value := verified{
		Reference: ref.Name(), Digest: r.Digest.String(), MediaType: string(r.MediaType), Platforms: r.Platforms,
		Signatures: r.Signatures, Blobs: r.Blobs, Bytes: r.Bytes,
	}
	value.Keys = []keyResult{}
	var by []string
	for i, n := range r.By {
		who := cmp.Or(c.CertificateIdentity, c.CertificateIdentityRegexp)
		if i < len(c.Key) {
			who = string(c.Key[i])
			value.Keys = append(value.Keys, keyResult{who, n})
		} else {
			value.IdentitySignatures = n
		}
		if n > 0 {
			by = append(by, who)
		}
	}
	for _, h := range r.Elsewhere {
		value.Elsewhere = append(value.Elsewhere, h.String())
	}
	term.Note(fmt.Sprintf("signed with %s; verified the digests of %s (%s)", strings.Join(by, ", "), terminal.Count(r.Blobs, "blob"), terminal.Size(r.Bytes)))
	if len(r.Elsewhere) > 0 {
		term.Warn(fmt.Sprintf("did not check %s that registries do not store: %s", terminal.Count(len(r.Elsewhere), "layer"), strings.Join(value.Elsewhere, ", ")))
	}
	return c.Print(term, value, pinned(ref, value.Digest)+"\n")
}
