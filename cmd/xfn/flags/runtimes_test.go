package flags_test

import (
	"reflect"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/session"
)

// TestRuntimeHelp requires that the help of the flag names every runtime.
func TestRuntimeHelp(t *testing.T) {
	field, _ := reflect.TypeFor[flags.Runtimes]().FieldByName("Runtime")
	for _, r := range session.Runtimes() {
		e2e.Has(t, "the help of the flag names each runtime", field.Tag.Get("help"), string(r))
	}
}
