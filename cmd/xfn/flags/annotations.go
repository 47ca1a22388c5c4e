package flags

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
)

// A comma begins another annotation if a key and "=" follow. Keys for Functions have a prefix, as in
// render.crossplane.io/runtime: text such as A=1,B=2 in the value of an annotation is not split.
var (
	nextImageKey    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^,[A-Za-z0-9][A-Za-z0-9._/-]*=`) })
	nextFunctionKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^,[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9._-]+=`) })
)

// ImageAnnotations parses the values of --oci-annotation, of the form KEY=VALUE[,KEY=VALUE]... If a
// key occurs several times, the last value has priority.
func ImageAnnotations(values []string) (map[string]string, error) {
	return annotations("--oci-annotation", values, nextImageKey(), "org.opencontainers.image.source=https://example.org")
}

// FunctionAnnotations parses the values of --function-annotations, as ImageAnnotations does.
func FunctionAnnotations(values []string) (map[string]string, error) {
	return annotations("--function-annotations", values, nextFunctionKey(), "render.crossplane.io/runtime=Docker")
}

// annotations parses the values of a flag. next matches a comma that begins another annotation.
func annotations(flag string, values []string, next *regexp.Regexp, example string) (map[string]string, error) {
	all := map[string]string{}
	for _, value := range values {
		for _, a := range splitAnnotations(value, next) {
			key, value, ok := strings.Cut(a, "=")
			problem := ""
			switch {
			case !ok:
				problem = "expected KEY=VALUE"
			case strings.TrimSpace(key) == "":
				problem = "the key is empty"
			}
			if problem != "" {
				return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading %s %q: %s", flag, a, problem), "use "+example+", say")}
			}
			all[key] = value
		}
	}
	return all, nil
}

func splitAnnotations(text string, next *regexp.Regexp) []string {
	var all []string
	var last strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], `\,`):
			i++
		case next.MatchString(text[i:]):
			all = append(all, last.String())
			last.Reset()
			continue
		}
		last.WriteByte(text[i])
	}
	return append(all, last.String())
}
