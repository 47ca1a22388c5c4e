package xpkg

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// SignFlags are the flags of commands that sign packages.
type SignFlags struct {
	SignKey       flags.KeySource `placeholder:"FILE" help:"Sign as cosign does, with this private key in PEM, a file or env://NAME. COSIGN_PASSWORD has the password of an encrypted key."`
	Attest        []string        `sep:"none" placeholder:"TYPE=FILE" help:"Attach a signed in-toto attestation. TYPE is spdx, cyclonedx, slsaprovenance1, test-result or a URI, and FILE the predicate or the whole statement in JSON, or a folder with a file NAME.json for each package. NAME is the last element of the repository. Repeatable."`
	RekorURL      string          `name:"rekor-url" more:"" placeholder:"URL" help:"Publish the signature in this transparency log of Sigstore, and store the log's proof with it. The log is public, and deletes nothing."`
	RekorKey      flags.KeySource `more:"" placeholder:"FILE" help:"Public key of the log in PEM, a file or env://NAME. Requires --rekor-url. Default: the file in SIGSTORE_REKOR_PUBLIC_KEY, or the key that the log returns."`
	FulcioURL     string          `name:"fulcio-url" more:"" placeholder:"URL" help:"Sign without a key: this certificate authority of Sigstore confirms the identity in an OIDC token. Requires --rekor-url."`
	IdentityToken string          `more:"" placeholder:"FILE" help:"File with the OIDC token for --fulcio-url; - is stdin. Default: the token of the job in GitHub Actions, or SIGSTORE_ID_TOKEN, which GitLab sets."`
}

// Set sets the options of a push for the flags, except for the flags of Attestations. The caller
// has set Services. It may read stdin, and request a token.
func (f SignFlags) Set(ctx context.Context, t *terminal.Terminal, o *push.Options) (err error) {
	if err := f.check(); err != nil {
		return &terminal.UsageError{Err: err}
	}
	if o.SignKey, err = f.SignKey.Signer(); err != nil {
		return err
	}
	if f.RekorURL != "" {
		o.Log = &push.Log{URL: f.RekorURL}
		if key := cmp.Or(f.RekorKey, flags.KeySource(os.Getenv(flags.LogKeyVariable))); key != "" {
			if o.Log.Key, err = key.Read(); err != nil {
				return fmt.Errorf("reading key %q: %w", string(key), err)
			}
		}
	}
	if f.FulcioURL != "" {
		o.Keyless = &push.Keyless{URL: f.FulcioURL}
		o.Keyless.Token, err = f.token(ctx, t, o)
	}
	return err
}

func (f SignFlags) check() error {
	switch {
	case f.FulcioURL != "" && f.SignKey != "":
		return errors.New("--fulcio-url and --sign-key cannot be used together")
	case f.FulcioURL != "" && f.RekorURL == "":
		return errors.New("--fulcio-url requires --rekor-url, because the certificate expires after minutes")
	case f.RekorKey != "" && f.RekorURL == "":
		return errors.New("--rekor-key requires --rekor-url")
	case f.IdentityToken != "" && f.FulcioURL == "":
		return errors.New("--identity-token requires --fulcio-url")
	case len(f.Attest) > 0 && f.SignKey == "" && f.FulcioURL == "":
		return errors.New("--attest requires --sign-key or --fulcio-url")
	case f.RekorURL != "" && f.SignKey == "" && f.FulcioURL == "":
		return errors.New("--rekor-url requires --sign-key or --fulcio-url")
	}
	return nil
}

// token returns the identity token of --identity-token, or else of the CI system's environment.
func (f SignFlags) token(ctx context.Context, t *terminal.Terminal, o *push.Options) (string, error) {
	if f.IdentityToken != "" {
		text, err := readSecret(t, f.IdentityToken)
		return string(text), terminal.Wrap(err, "reading the identity token %q", f.IdentityToken)
	}
	token, ok, err := signature.Ambient(ctx, os.Getenv, o.Services)
	if err == nil && !ok {
		err = hint.Wrap(errors.New("no identity token is given, and the environment has none"),
			"name its file with --identity-token; a job of GitHub Actions needs the permission id-token: write, and one of GitLab the id_tokens SIGSTORE_ID_TOKEN")
	}
	return token, err
}

// SignCmd signs a package in a registry.
type SignCmd struct {
	Package string `arg:"" surplus:"as in xfn xpkg sign registry.example.org/acme/hello:v0.1.0 --sign-key cosign.key" help:"What to sign: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`

	SignFlags
	DryRun bool `help:"Print whether the package would be signed, and change nothing."`

	flags.Patience
	terminal.Format
	registryFlags
}

// Help is shown by --help.
func (SignCmd) Help() string {
	return `Signs the digest at the reference as xfn xpkg push --sign-key does. The package and its tags do not change. If the key has signed the digest already, no second signature is added, and the same goes for each attestation; with --rekor-url, they must be in the log. Prints the reference with the digest.

Examples:

    xfn xpkg sign registry.example.org/acme/hello:v0.1.0 --sign-key cosign.key
    xfn xpkg sign registry.example.org/acme/hello:v0.1.0 \
        --fulcio-url https://fulcio.example.org \
        --rekor-url https://rekor.example.org --identity-token token.txt
`
}

// signResult is the output of xfn xpkg sign --format json.
type signResult struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	DryRun    bool   `json:"dryRun,omitempty"`
	Signature signed `json:"signature"`
}

// Run signs, and prints the reference.
func (c *SignCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	ref, err := c.signed(c.Package)
	if err != nil {
		return err
	}
	if c.SignKey == "" && c.FulcioURL == "" {
		return &terminal.UsageError{Err: hint.Wrap(errors.New("expected --sign-key or --fulcio-url"), "name the private key with --sign-key FILE; xfn xpkg keygen generates one")}
	}
	opts := push.Options{Transport: c.PatientClient(p, c.Patience), Services: c.Services().PatientClient(p, c.Patience), DryRun: c.DryRun}
	if err := c.SignFlags.Set(ctx, term, &opts); err != nil {
		return err
	}
	if opts.Attestations, err = c.Attestations(path.Base(ref.Context().RepositoryStr()), false); err != nil {
		return err
	}
	res, err := push.Sign(ctx, ref, opts)
	if err != nil {
		return err
	}
	value := signResult{ref.Name(), res.Digest.String(), string(res.MediaType), c.DryRun, signed{res.Signature, res.Signed, res.Attested}}
	text := pinned(ref, value.Digest) + "\n"
	switch {
	case c.DryRun:
		text = wouldSign(res)
	case !res.Signed:
		term.Note("the key has signed " + value.Digest + " already")
	}
	if res.Attested > 0 && !c.DryRun {
		term.Note(attached(res))
	}
	return c.Print(term, value, text)
}

// Attestations reads the files of --attest for a package. A folder has a file NAME.json for each
// package. If there are several packages, only folders are accepted.
func (f SignFlags) Attestations(name string, several bool) (all []push.Attestation, err error) {
	for _, value := range f.Attest {
		short, path, ok := cutLast(value)
		if !ok {
			return nil, &terminal.UsageError{Err: fmt.Errorf("reading --attest %q: expected TYPE=FILE", value)}
		}
		uri, err := flags.PredicateType("--attest", short)
		if err != nil {
			return nil, err
		}
		switch info, err := os.Stat(path); {
		case err == nil && info.IsDir():
			path = filepath.Join(path, name+".json")
		case several:
			err := fmt.Errorf("reading --attest %q: expected a folder with a file for each package, because the project has several", value)
			return nil, &terminal.UsageError{Err: hint.Wrap(err, "xfn project build writes such folders with --sbom DIR and --provenance DIR")}
		}
		text, err := fsx.ReadFile(path, 8<<20)
		if err != nil {
			return nil, fmt.Errorf("reading attestation %q: %w", path, err)
		}
		if err := checkJSON(text); err != nil {
			return nil, hint.Wrap(fmt.Errorf("reading attestation %q: %w", path, err), "name a file that xfn xpkg build --sbom or --provenance wrote, or another predicate in JSON")
		}
		all = append(all, push.Attestation{Type: uri, Predicate: text})
	}
	return all, nil
}

// checkJSON returns an error unless text is a JSON object.
func checkJSON(text []byte) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal(text, &object)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("expected a JSON object: %w", err)
	}
	if err != nil || object == nil {
		return errors.New("expected a JSON object")
	}
	return nil
}

// cutLast splits TYPE=FILE. A URI may contain "=", as in ?version=1.
func cutLast(flag string) (before, after string, ok bool) {
	i := strings.LastIndex(flag, "=")
	if i < 1 || i == len(flag)-1 {
		return "", "", false
	}
	return flag[:i], flag[i+1:], true
}
