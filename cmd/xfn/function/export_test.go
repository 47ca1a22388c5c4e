package function

import "context"

// ReadRequest exposes readRequest to tests.
var ReadRequest = readRequest

// Leaving exposes leaving to tests.
func Leaving(ctx context.Context, name string, step func() (int, error)) (int, error) {
	return leaving(ctx, name, step)
}
