package xpkg

import (
	"context"
	"fmt"
	"io"
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

	Key                []KeySource `required:"" sep:"none" placeholder:"FILE" help:"Public key in PEM, as a file or env://NAME. Repeatable: a signature by one of them is enough."`
	RequireAttestation []string    `sep:"none" placeholder:"TYPE" help:"Require an attestation of this type by one of the keys: spdx, cyclonedx, slsaprovenance1, test-result or a URI. Repeatable."`

	flags.Patience
	terminal.Format
	registryFlags
}

// Help is shown by --help.
func (VerifyCmd) Help() string {
	return `Verifies that the digest at the reference has a signature that xfn xpkg push --sign-key or cosign made with the key. Then reads each manifest, config and layer of all platforms and compares it with its digest; nothing is stored. Does not check certificates, timestamps and transparency logs. Prints the reference with the digest.

Exit codes: 0 verified, 1 not verified, 2 usage error.

Example:

    xfn xpkg verify registry.example.org/acme/hello:v0.1.0 --key cosign.pub
`
}

// Run verifies, and prints the result.
func (c *VerifyCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	ref, err := c.signed(c.Package)
	if err != nil {
		return err
	}
	keys, err := publicKeys(c.Key)
	if err != nil {
		return err
	}
	var required []string
	for _, t := range c.RequireAttestation {
		uri, err := predicateType("--require-attestation", t)
		if err != nil {
			return err
		}
		required = append(required, uri)
	}
	client := c.PatientClient(p, c.Patience)
	res, err := image.Verify(ctx, ref, keys, client, term.Progress)
	if err != nil {
		return err
	}
	if err := image.RequireAttestations(ctx, ref.Context().Digest(res.Digest.String()), required, keys, client); err != nil {
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
	// Signatures counts the signatures of the digest by any key, and Keys
	// those by each given key.
	Signatures int         `json:"signatures"`
	Keys       []keyResult `json:"keys"`
	// Blobs counts the blobs whose digest was verified, and Bytes their bytes.
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// Elsewhere are the digests of layers that registries do not store,
	// which were not checked.
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
	var by []string
	for i, n := range r.By {
		value.Keys = append(value.Keys, keyResult{string(c.Key[i]), n})
		if n > 0 {
			by = append(by, string(c.Key[i]))
		}
	}
	for _, h := range r.Elsewhere {
		value.Elsewhere = append(value.Elsewhere, h.String())
	}
	term.Note(fmt.Sprintf("signed with %s; verified the digests of %s (%s)", strings.Join(by, ", "), terminal.Count(r.Blobs, "blob"), terminal.Size(r.Bytes)))
	if len(r.Elsewhere) > 0 {
		term.Warn(fmt.Sprintf("did not check %s that registries do not store: %s", terminal.Count(len(r.Elsewhere), "layer"), strings.Join(value.Elsewhere, ", ")))
	}
	text := func(w io.Writer) error {
		_, err := fmt.Fprintln(w, pinned(ref, value.Digest))
		return err
	}
	return c.Print(term.Stdout, value, text)
}
