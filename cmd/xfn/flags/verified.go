package flags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/docker"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/signature"
)

// predicateTypes maps short names of predicate types to their URIs. The names are
// cosign's, except test-result, which comes from the in-toto attestation framework.
func predicateTypes() map[string]string {
	return map[string]string{
		"cyclonedx":       signature.CycloneDX,
		"slsaprovenance1": signature.Provenance,
		"spdx":            signature.SPDX,
		"spdxjson":        signature.SPDX,
		"test-result":     signature.TestResult,
	}
}

// PredicateType returns the URI of a predicate type. The value of flag is text.
func PredicateType(flag, text string) (string, error) {
	known := predicateTypes()
	if uri, ok := known[text]; ok {
		return uri, nil
	}
	if scheme, rest, ok := strings.Cut(text, "://"); ok && scheme != "" && rest != "" {
		return text, nil
	}
	names := slices.Sorted(maps.Keys(known))
	err := fmt.Errorf("reading %s: %q is not a type of attestations: expected %s or a URI", flag, text, strings.Join(names, ", "))
	return "", &terminal.UsageError{Err: hint.Wrap(err, hint.Meant("", hint.Nearest(text, names)))}
}

// Environment variables of cosign with the names of files: the key of the transparency log, the
// certificates of authorities, and the key of the certificate transparency log.
const (
	LogKeyVariable = "SIGSTORE_REKOR_PUBLIC_KEY"
	rootsVariable  = "SIGSTORE_ROOT_FILE"
	ctKeyVariable  = "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE"
)

// Identity are the flags that name whose signatures with certificates are accepted.
type Identity struct {
	CertificateIdentity       string    `more:"" placeholder:"ID" help:"Accept signatures with a certificate for this identity: an email address, or the URI of a CI job. Requires --certificate-oidc-issuer."`
	CertificateIdentityRegexp string    `more:"" placeholder:"REGEXP" help:"As --certificate-identity, for each identity that matches the regular expression from its beginning to its end."`
	CertificateOIDCIssuer     string    `more:"" name:"certificate-oidc-issuer" placeholder:"URL" help:"The issuer of the OIDC token that confirmed the identity."`
	CARoots                   string    `more:"" name:"ca-roots" placeholder:"FILE" help:"Certificates in PEM of the trusted certificate authorities. Default: the file in SIGSTORE_ROOT_FILE."`
	RekorKey                  KeySource `more:"" placeholder:"FILE" help:"Public key in PEM of the transparency log, a file or env://NAME. Default: the file in SIGSTORE_REKOR_PUBLIC_KEY."`
	CTKey                     KeySource `more:"" name:"ct-key" placeholder:"FILE" help:"Public key in PEM of the certificate transparency log, a file or env://NAME: the certificate must have its timestamp (SCT). Default: the file in SIGSTORE_CT_LOG_PUBLIC_KEY_FILE, or no check."`
}

// IsSet reports whether the flags name an identity.
func (f Identity) IsSet() bool {
	return f.CertificateIdentity != "" || f.CertificateIdentityRegexp != ""
}

func (f Identity) flag() string {
	if f.CertificateIdentity == "" {
		return "--certificate-identity-regexp"
	}
	return "--certificate-identity"
}

func (f Identity) check() error {
	switch {
	case f.CertificateIdentity != "" && f.CertificateIdentityRegexp != "":
		return errors.New("--certificate-identity and --certificate-identity-regexp cannot be used together")
	case f.IsSet() && f.CertificateOIDCIssuer == "":
		return errors.New(f.flag() + " requires --certificate-oidc-issuer: another issuer could confirm the same identity")
	case !f.IsSet() && (f.CertificateOIDCIssuer != "" || f.CARoots != "" || f.RekorKey != "" || f.CTKey != ""):
		return errors.New("--certificate-oidc-issuer, --ca-roots, --rekor-key and --ct-key require --certificate-identity or --certificate-identity-regexp")
	}
	return nil
}

// Verifiers reads the keys, and the log key and the certificates that verify the identity.
func (f Identity) Verifiers(from []KeySource) (all []signature.Verifier, err error) {
	if err := f.check(); err != nil {
		return nil, &terminal.UsageError{Err: err}
	}
	keys, err := PublicKeys(from)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		all = append(all, k)
	}
	if !f.IsSet() {
		return all, nil
	}
	// NewIdentity adds the same anchors. They are here so that errors for expressions that they make
	// invalid, such as \Qa, name the flag.
	subject, err := regexp.Compile("^(?:" + cmp.Or(f.CertificateIdentityRegexp, regexp.QuoteMeta(f.CertificateIdentity)) + ")$")
	if err != nil {
		return nil, &terminal.UsageError{Err: fmt.Errorf("reading --certificate-identity-regexp: %w", err)}
	}
	key := cmp.Or(f.RekorKey, KeySource(os.Getenv(LogKeyVariable)))
	roots := cmp.Or(f.CARoots, os.Getenv(rootsVariable))
	switch {
	case key == "":
		return nil, &terminal.UsageError{Err: errors.New(f.flag() + " requires the key of the transparency log: --rekor-key or " + LogKeyVariable)}
	case roots == "":
		return nil, &terminal.UsageError{Err: errors.New(f.flag() + " requires the certificates of the authorities: --ca-roots or " + rootsVariable)}
	}
	parse := func(text, _ []byte) (*signature.LogKey, error) { return signature.ParseLogKey(text) }
	log, err := readKey(key, parse)
	if err != nil {
		return nil, err
	}
	var certificates *signature.LogKey
	if key := cmp.Or(f.CTKey, KeySource(os.Getenv(ctKeyVariable))); key != "" {
		if certificates, err = readKey(key, parse); err != nil {
			return nil, err
		}
	}
	text, err := fsx.ReadFile(roots, maxRoots)
	if err == nil {
		var identity *signature.Identity
		if identity, err = signature.NewIdentity(subject, f.CertificateOIDCIssuer, text, log, certificates); err == nil {
			return append(all, identity), nil
		}
	}
	return nil, fmt.Errorf("reading the certificates %q: %w", roots, err)
}

// maxRoots limits the bytes of a file with certificates.
const maxRoots = 1 << 20

// Verified are the flags that refuse functions that nobody signed.
type Verified struct {
	RequireVerified    bool        `more:"" env:"XFN_REQUIRE_VERIFIED" help:"Run only builtins, and packages in registries with a signature by --verify-key or --certificate-identity. Without these, the lock file of --locked must have the packages."`
	VerifyKey          []KeySource `more:"" sep:"none" placeholder:"FILE" help:"Public key in PEM for --require-verified, a file or env://NAME. Repeatable: a signature by one of them is enough."`
	RequireAttestation []string    `more:"" sep:"none" placeholder:"TYPE" help:"With --require-verified, also require an attestation of this type by one of the keys, or the identity: spdx, cyclonedx, slsaprovenance1, test-result or a URI. Repeatable."`
	Identity
}

// verify returns the function that verifies the package of a function, and returns its
// reference with the digest. It is nil without --require-verified.
func (f Runtimes) verify(o image.Options) (func(context.Context, session.Runtime, runtimes.Function) (string, error), error) {
	if !f.RequireVerified {
		if len(f.VerifyKey)+len(f.RequireAttestation) > 0 || f.Identity != (Identity{}) {
			return nil, errors.New("--verify-key, --require-attestation and the flags of certificate identities require --require-verified")
		}
		return nil, nil
	}
	by, err := f.Verifiers(f.VerifyKey)
	if err != nil {
		return nil, err
	}
	types, err := PredicateTypes(f.RequireAttestation)
	switch {
	case err != nil:
		return nil, err
	case len(by) == 0 && !f.Locked:
		return nil, errors.New("--require-verified requires --verify-key, --certificate-identity or --locked")
	case len(by) == 0 && len(types) > 0:
		return nil, errors.New("--require-attestation requires --verify-key or --certificate-identity")
	}
	own, err := FunctionAnnotations(f.FunctionAnnotations)
	if err != nil {
		return nil, err
	}
	if len(by) == 0 {
		o.Pin = f.lock.Pin // Images that Allow permits are not verified.
	}
	var known verdicts
	return func(ctx context.Context, runtime session.Runtime, fn runtimes.Function) (string, error) {
		if err := checkVerified(runtime, fn.Annotations, own); err != nil {
			return "", err
		}
		return known.of(ctx, fn.Package, func() (string, error) {
			ref, err := f.Reference(fn.Package)
			if err != nil {
				return "", err
			}
			pinned, err := image.Trusted(ctx, ref, by, types, o)
			if err != nil {
				return "", err
			}
			f.Allow(pinned.Name()) // The runtime pins the reference again.
			return pinned.Name(), nil
		})
	}, nil
}

// verdicts keeps the results of verifications by package, so that a tag that moves changes no
// later render, and a package that is refused is verified once.
type verdicts struct{ known sync.Map }

type verdict struct {
	reference string
	err       error
}

// of returns the verdict on a package. The first call gets the verdict from verify, and later
// calls return the same verdict. If ctx is done, an error is not kept.
func (v *verdicts) of(ctx context.Context, pkg string, verify func() (string, error)) (string, error) {
	kept, ok := v.known.Load(pkg)
	if !ok {
		reference, err := verify()
		if err != nil && ctx.Err() != nil {
			return "", err
		}
		kept, _ = v.known.LoadOrStore(pkg, verdict{reference, err})
	}
	one := kept.(verdict)
	return one.reference, one.err
}

// Replacing returns the annotation of a Function that makes a runtime run something other than
// the function's package, or "".
func Replacing(runtime session.Runtime, annotations map[string]string) string {
	if runtime != session.Docker {
		return ""
	}
	for _, key := range []string{docker.AnnotationImage, docker.AnnotationName, docker.AnnotationTarget} {
		if annotations[key] != "" {
			return key
		}
	}
	return ""
}

// checkVerified returns an error for annotations of a Function that replace its verified package,
// or that change what the package does or reaches. An annotation that changes what the package
// does or reaches is allowed if own has it, because then the caller has set it. It ignores
// annotations that the runtime does not read.
func checkVerified(runtime session.Runtime, annotations, own map[string]string) error {
	if key := Replacing(runtime, annotations); key != "" {
		return fmt.Errorf("the annotation %s would run something else than the verified package", key)
	}
	keys := []string{sandbox.AnnotationEnv, sandbox.AnnotationNetwork}
	if runtime == session.Docker {
		keys = []string{docker.AnnotationEnv, docker.AnnotationNetwork}
	}
	for _, key := range keys {
		value := annotations[key]
		isolated := key == sandbox.AnnotationNetwork && value == "Isolated"
		if _, given := own[key]; value != "" && !isolated && !given {
			return fmt.Errorf("the annotation %s of the Function would change what the verified package can do; set it with --function-annotations", key)
		}
	}
	return nil
}

// PredicateTypes returns the URIs of the predicate types in --require-attestation, as PredicateType does.
func PredicateTypes(texts []string) (all []string, err error) {
	for _, t := range texts {
		uri, err := PredicateType("--require-attestation", t)
		if err != nil {
			return nil, err
		}
		all = append(all, uri)
	}
	return all, nil
}
