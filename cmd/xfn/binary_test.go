package main

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func binary(b *testing.B) string {
	b.Helper()
	return e2e.Binary(b)
}
