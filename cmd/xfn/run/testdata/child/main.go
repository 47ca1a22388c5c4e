// Command child plays the function in tests.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/xfn-dev/xfn/function/functiontest"
)

func main() {
	fmt.Fprintln(os.Stderr, "greeting:", os.Getenv("GREETING"))
	exit, _ := functiontest.RunChild(context.Background(), os.Args[1:], os.Stderr)
	os.Exit(exit)
}
