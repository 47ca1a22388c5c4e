package scaffold_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	scaffold "github.com/xfn-dev/xfn/init"
)

// The bundled template "go" becomes the directory of a new function.
func ExampleInit() {
	parent, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	res, err := scaffold.Init(context.Background(), scaffold.Options{
		Name:     "function-colors",
		Template: "go",
		Dir:      filepath.Join(parent, "function-colors"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	gomod, err := os.ReadFile(filepath.Join(res.Dir, "go.mod"))
	module, _, _ := strings.Cut(string(gomod), "\n")
	fmt.Println(res.URL, module, err)
	// Output: bundled:go module function-colors <nil>
}

func ExampleReadAnswer() {
	for _, line := range []string{"yes\n", "V\n", "perhaps\n"} {
		answer, err := scaffold.ReadAnswer(strings.NewReader(line))
		fmt.Println(answer == scaffold.Yes, answer == scaffold.View, answer == scaffold.No, err)
	}
	// Output:
	// true false false <nil>
	// false true false <nil>
	// false false true <nil>
}
