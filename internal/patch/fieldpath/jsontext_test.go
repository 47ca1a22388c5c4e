package fieldpath_test

import (
	"encoding/json"
	"testing"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// FuzzValidUTF8 compares ValidUTF8 with encoding/json.
func FuzzValidUTF8(f *testing.F) {
	for _, seed := range []string{"", "text", "żółw", "a\xff\xfeb", "\xe2\x82", "\xed\xa0\x80", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got := fieldpath.ValidUTF8(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	})
}
