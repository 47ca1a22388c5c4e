// Command literal serves the function functiontest.Literal.
package main

import (
	"context"
	"os"

	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func main() {
	args := append(functiontest.ChildArgs(functiontest.Serves, ""), os.Args[1:]...)
	exit, _ := functiontest.RunChild(context.Background(), args, os.Stderr)
	os.Exit(exit)
}
