package function

import "context"

// ReadRequest is for tests of what files may hold.
var ReadRequest = readRequest

// Leaving is for tests of steps that know no context.
func Leaving(ctx context.Context, name string, step func() (int, error)) (int, error) {
	return leaving(ctx, name, step)
}
