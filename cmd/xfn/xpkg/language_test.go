package xpkg_test

import (
	"reflect"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/languages"
)

// The help of --language lists all languages.
func TestLanguageHelp(t *testing.T) {
	field, ok := reflect.TypeFor[xpkg.BuildCmd]().FieldByName("Language")
	if !ok {
		t.Fatal("BuildCmd has no field Language")
	}
	for _, l := range languages.All() {
		e2e.Has(t, "the help of --language names each language", field.Tag.Get("help"), l.Name)
	}
}
