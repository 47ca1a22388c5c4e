// Command child is a functiontest child as a program of its own. It first
// prints the variable SAY.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func main() {
	if say := os.Getenv("SAY"); say != "" {
		fmt.Println(say)
	}
	exit, _ := functiontest.RunChild(context.Background(), os.Args[1:], os.Stderr)
	os.Exit(exit)
}
