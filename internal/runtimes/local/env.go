package local

import (
	"fmt"
	"strings"
)

// ParseEnv parses the environment variables of an annotation: KEY=value,
// separated by commas.
func ParseEnv(text string) ([]string, error) {
	pairs := strings.Split(text, ",")
	for _, pair := range pairs {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return nil, fmt.Errorf("expected KEY=value, got %q", pair)
		}
	}
	return pairs, nil
}
