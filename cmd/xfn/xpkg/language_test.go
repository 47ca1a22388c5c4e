package xpkg_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/language/languages"
)

// The help of --language lists all languages.
func TestLanguageHelp(t *testing.T) {
	field, ok := reflect.TypeFor[xpkg.BuildCmd]().FieldByName("Language")
	if !ok {
		t.Fatal("BuildCmd has no field Language")
	}
	for _, l := range languages.All() {
		if help := field.Tag.Get("help"); !strings.Contains(help, l.Name) {
			t.Errorf("want %q in the help, got %q", l.Name, help)
		}
	}
}
