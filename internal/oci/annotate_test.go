package oci_test

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
)

// unknownField is an image whose manifest has a field that no Go type has.
type unknownField struct{ v1.Image }

func (i unknownField) RawManifest() ([]byte, error) {
	raw, err := i.Image.RawManifest()
	return []byte(strings.Replace(string(raw), "{", `{"annotations":{"old":"1"},"later":{"n":12345678901234567890},`, 1)), err
}

func TestAnnotate(t *testing.T) {
	src, _ := randomImage(t)
	want := map[string]string{"a": "b", "empty": "", "text": "one, <two>"}
	img := e2e.Must(oci.Annotate(unknownField{src}, want))(t)
	e2e.NoError(t, validate.Image(img))
	e2e.Equal(t, "annotations", want, e2e.Must(img.Manifest())(t).Annotations)
	e2e.Has(t, "an unknown field was removed", string(raw(t, img.RawManifest)), `"later":{"n":12345678901234567890}`)
	img = e2e.Must(oci.Annotate(img, nil))(t)
	if got := string(raw(t, img.RawManifest)); strings.Contains(got, "annotations") {
		t.Errorf("without annotations the manifest has the field: %s", got)
	}
}
