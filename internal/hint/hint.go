package hint

import (
	"errors"
	"strings"
)

// A Hint is one sentence in the imperative that says what to try next. It names
// options by the constants of this package, since only the caller of Spell knows
// what they are called where the user sets them.
type Hint string

// Options that a hint can name.
const (
	Builtin               Hint = "{builtin}"
	Builtins              Hint = "{builtins}"
	CAFile                Hint = "{ca-file}"
	ContextValues         Hint = "{context-values}"
	Dependencies          Hint = "{dependencies}"
	EmbedRuntimeSource    Hint = "{embed-runtime-source}"
	EmbedRuntimeTarball   Hint = "{embed-runtime-image-tarball}"
	ExamplesRoot          Hint = "{examples-root}"
	Ignore                Hint = "{ignore}"
	InsecureSkipTLSVerify Hint = "{insecure-skip-tls-verify}"
	Lint                  Hint = "{lint}"
	MaxMessageSize        Hint = "{max-message-size}"
	NoSignatures          Hint = "{no-signatures}"
	Offline               Hint = "{offline}"
	Package               Hint = "{package}"
	PackageRoot           Hint = "{package-root}"
	PlainHTTP             Hint = "{plain-http}"
	Platform              Hint = "{platform}"
	Profile               Hint = "{profile}"
	Registry              Hint = "{registry}"
	Runtime               Hint = "{runtime}"
	SignKey               Hint = "{sign-key}"
	Timeout               Hint = "{timeout}"
	Update                Hint = "{update}"
)

// Options returns all of them.
func Options() []Hint {
	return []Hint{
		Builtin, Builtins, CAFile, ContextValues, Dependencies, EmbedRuntimeSource,
		EmbedRuntimeTarball, ExamplesRoot, Ignore, InsecureSkipTLSVerify, Lint,
		MaxMessageSize, NoSignatures, Offline, Package, PackageRoot, PlainHTTP, Platform, Profile,
		Registry, Runtime, SignKey, Timeout, Update,
	}
}

// A Speller returns how a user sets the option of this name, such as "--offline"
// for "offline".
type Speller func(option string) string

// Spell returns the hint's text with its options as s spells them. A nil s spells
// "offline" as "option offline".
func (h Hint) Spell(s Speller) string {
	if s == nil {
		s = func(option string) string { return "option " + option }
	}
	var spelled []string
	for _, o := range Options() {
		spelled = append(spelled, string(o), s(strings.Trim(string(o), "{}")))
	}
	return strings.NewReplacer(spelled...).Replace(string(h))
}

type hinted struct {
	error
	hint Hint
}

func (h hinted) Unwrap() error { return h.error }

// Wrap returns err with a hint. The text of err stays as it is. A nil err stays
// nil.
func Wrap[T ~string](err error, hint T) error {
	if err == nil {
		return nil
	}
	return hinted{error: err, hint: Hint(hint)}
}

// Of returns the outermost hint in err's chain, or "".
func Of(err error) Hint {
	var h hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
