package patchandtransform_test

import (
	"testing"

	"github.com/xfn-dev/xfn/function/functiontest"
	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
)

func TestGolden(t *testing.T) {
	functiontest.Golden(t, "../../../testdata/golden/pt", patchandtransform.New(patchandtransform.Options{}))
}
