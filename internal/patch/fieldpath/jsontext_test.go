package fieldpath_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// FuzzValidUTF8 compares ValidUTF8 with encoding/json.
func FuzzValidUTF8(f *testing.F) {
	for _, seed := range []string{"", "text", "żółw", "a\xff\xfeb", "\xe2\x82", "\xed\xa0\x80", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := e2e.Must(json.Marshal(text))(t)
		var want string
		e2e.NoError(t, json.Unmarshal(raw, &want))
		e2e.Equal(t, fmt.Sprintf("%q becomes what encoding it as JSON makes of it", text), want, fieldpath.ValidUTF8(text))
	})
}
