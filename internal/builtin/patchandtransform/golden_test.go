package patchandtransform_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func TestGolden(t *testing.T) {
	functiontest.Golden(t, "../../../testdata/golden/pt", patchandtransform.New(nil, true))
}
