package flags_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/session"
)

// TestRuntimeHelp requires that the help of the flag names every runtime.
func TestRuntimeHelp(t *testing.T) {
	field, _ := reflect.TypeFor[flags.Runtimes]().FieldByName("Runtime")
	for _, r := range session.Runtimes() {
		if help := field.Tag.Get("help"); !strings.Contains(help, string(r)) {
			t.Errorf("got help %q, want it to name %s", help, r)
		}
	}
}
