package hint

import (
	"errors"
	"strings"
)

// A Hint is one sentence in the imperative with the next action. It contains
// options as constants of this package, because only the caller of Spell knows
// their syntax.
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

// Options returns all options.
func Options() []Hint {
	return []Hint{
		Builtin, Builtins, CAFile, ContextValues, Dependencies, EmbedRuntimeSource,
		EmbedRuntimeTarball, ExamplesRoot, Ignore, InsecureSkipTLSVerify, Lint,
		MaxMessageSize, NoSignatures, Offline, Package, PackageRoot, PlainHTTP, Platform, Profile,
		Registry, Runtime, SignKey, Timeout, Update,
	}
}

// A Speller returns the syntax of an option, such as "--offline" for "offline".
type Speller func(option string) string

// Spell returns the hint with the syntax of its options by s, or "option
// offline" if s is nil.
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

// Wrap returns err with a hint and the same text. It returns nil for a nil err.
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
