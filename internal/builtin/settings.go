package builtin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A Setting is a flag or environment variable of a real function that its builtin has, too.
type Setting struct {
	// Key is the name of the real function's flag, such as ttl.
	Key string
	// Variable is the real function's environment variable, or "".
	Variable string
	// Since is the first version of the real function that has the setting.
	Since string
	// Help describes the setting in Markdown.
	Help string
	set  func(o *Options, value string) error
}

// In reports whether the version of a package has the setting. A package without a version, such
// as one with the tag main, has all settings.
func (s Setting) In(pkg string) bool {
	v := version(pkg)
	return !semver.IsValid(v) || semver.Compare(v, s.Since) >= 0
}

func goTemplatingSettings() []Setting {
	return []Setting{
		{
			Key: "default-options", Variable: "FUNCTION_GO_TEMPLATING_DEFAULT_OPTIONS", Since: gotemplating.Unreleased,
			Help: "the `options` of an input without `options`, separated by commas",
			set: func(o *Options, value string) error {
				o.GoTemplating.DefaultOptions = nil
				if value != "" {
					o.GoTemplating.DefaultOptions = strings.Split(value, ",")
				}
				return nil
			},
		},
		{
			Key: "default-source", Variable: "FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE", Since: "v0.12.0",
			Help: "the folder with the templates of an input without `source`",
			set: func(o *Options, value string) error {
				o.GoTemplating.DefaultSource = value
				return nil
			},
		},
		{
			Key: "ttl", Since: gotemplating.Unreleased, Help: "the time to live of responses, unless the input or the composite resource sets one",
			set: func(o *Options, value string) error { return setTTL(&o.GoTemplating.TTL, value) },
		},
	}
}

func autoReadySettings() []Setting {
	return []Setting{
		{
			Key: "feature-gates", Since: "v0.7.0", Help: "feature gates such as `CELHealthcheckCustomizations=true`, separated by commas",
			set: func(o *Options, value string) (err error) {
				o.autoReady.CELHealthChecks, err = celHealthChecks(value)
				return err
			},
		},
		{
			Key: "ttl", Since: "v0.7.0", Help: "the time to live of responses, unless the input sets one",
			set: func(o *Options, value string) error { return setTTL(&o.autoReady.TTL, value) },
		},
	}
}

func setTTL(ttl **time.Duration, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("expected a duration such as 5m, got %q", value)
	}
	*ttl = &d
	return nil
}

// The feature gates of function-auto-ready.
const (
	celGate   = "CELHealthcheckCustomizations"
	alphaGate = "AllAlpha"
	betaGate  = "AllBeta"
)

// celHealthChecks parses feature gates as Kubernetes does. It reports whether celGate is on.
func celHealthChecks(list string) (bool, error) {
	gates := map[string]bool{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		gate, value, ok := strings.Cut(pair, "=")
		gate, value = strings.TrimSpace(gate), strings.TrimSpace(value)
		known := []string{celGate, alphaGate, betaGate}
		if !slices.Contains(known, gate) {
			return false, hint.Wrap(fmt.Errorf("unrecognized feature gate: %s", gate), hint.Meant("", hint.Nearest(gate, known)))
		}
		on, err := strconv.ParseBool(value)
		if !ok || err != nil {
			return false, fmt.Errorf("expected %s=true or %s=false, got %q", gate, gate, pair)
		}
		gates[gate] = on
	}
	if on, ok := gates[celGate]; ok {
		return on, nil
	}
	return gates[alphaGate], nil
}

// Option returns the name of a setting of b in Settings.
func (b Builtin) Option(key string) string { return b.shortName() + "." + key }

func (b Builtin) shortName() string { return strings.TrimPrefix(b.Name, "function-") }

// Settings are values of settings by NAME.KEY, such as 5m by go-templating.ttl.
type Settings map[string]string

// ParseSettings parses assignments such as go-templating.ttl=5m. Of several values for a
// setting, the last one applies.
func ParseSettings(assignments []string) (Settings, error) {
	all := Settings{}
	for _, a := range assignments {
		option, value, ok := strings.Cut(a, "=")
		name, key, dotted := strings.Cut(option, ".")
		if !ok || !dotted {
			return nil, fmt.Errorf("expected NAME.KEY=VALUE, got %q", a)
		}
		b, err := Find(name)
		if err != nil {
			return nil, err
		}
		if err := all.Set(b, key, value); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Set validates and adds the value of a setting of b.
func (s Settings) Set(b Builtin, key, value string) error {
	setting, err := b.setting(key)
	if err != nil {
		return err
	}
	if err := setting.set(&Options{}, value); err != nil {
		return fmt.Errorf("setting %s of %s: %w", key, b.Name, err)
	}
	s[b.Option(key)] = value
	return nil
}

func (b Builtin) setting(key string) (Setting, error) {
	var keys []string
	for _, s := range b.Settings {
		if s.Key == key {
			return s, nil
		}
		keys = append(keys, s.Key)
	}
	if len(keys) == 0 {
		return Setting{}, fmt.Errorf("%s has no settings, got %q", b.Name, key)
	}
	err := fmt.Errorf("%s has no setting %q: its settings are %s", b.Name, key, strings.Join(keys, ", "))
	return Setting{}, hint.Wrap(err, hint.Meant("", hint.Nearest(key, keys)))
}

// AnnotationPrefix is followed by the key of a Setting in the name of an annotation of a
// Function.
const AnnotationPrefix = "render.crossplane.io/runtime-builtin-"

// Annotations returns the names of the annotations of a Function that configure builtins.
func Annotations() []string {
	var names []string
	for _, b := range All() {
		for _, s := range b.Settings {
			names = append(names, AnnotationPrefix+s.Key)
		}
	}
	return names
}

// Annotated returns the settings of b in the annotations of a Function. It ignores settings
// that only other builtins have, because annotations may be for all Functions.
func (b Builtin) Annotated(annotations map[string]string) (Settings, error) {
	all, known := Settings{}, Annotations()
	for _, name := range manifest.Keys(annotations) {
		key, ok := strings.CutPrefix(name, AnnotationPrefix)
		_, err := b.setting(key)
		if !ok || err != nil && slices.Contains(known, name) {
			continue
		}
		if err := all.Set(b, key, annotations[name]); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", name, err)
		}
	}
	return all, nil
}

// Configured returns the runner of b with the settings in o. It returns an error if the version
// in o.Package does not have all of them.
func (b Builtin) Configured(o Options) (function.Runner, error) {
	o, err := b.apply(o)
	if err != nil {
		return nil, err
	}
	return b.New(o), nil
}

func (b Builtin) apply(o Options) (Options, error) {
	for _, s := range b.Settings {
		option := b.Option(s.Key)
		value, ok := o.Settings[option]
		if !ok {
			value, ok = o.Annotated[option]
		}
		if !ok {
			continue
		}
		if !s.In(o.Package) {
			next := "it exists since " + s.Since
			if s.Since == gotemplating.Unreleased {
				next = "no release has it; name the package with the tag main to use it"
			}
			return o, hint.Wrap(fmt.Errorf("%s %s has no setting %s", b.Name, tag(o.Package), s.Key), next)
		}
		if err := s.set(&o, value); err != nil {
			return o, fmt.Errorf("setting %s of %s: %w", s.Key, b.Name, err)
		}
	}
	_, o.GoTemplating.AnyFolder = o.Settings["go-templating.default-source"]
	return o, nil
}

// Folders returns the folders with templates that o names.
func (o Options) Folders() []string {
	var folders []string
	for _, f := range o.GoTemplating.Templates {
		folders = append(folders, f.Dir)
	}
	if dir := o.Settings["go-templating.default-source"]; dir != "" {
		folders = append(folders, dir)
	}
	return folders
}
