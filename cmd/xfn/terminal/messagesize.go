package terminal

import "fmt"

// CheckMessageSize returns what is wrong with a --max-message-size in MiB: it has
// to be above 0, and below the 2 GiB that a message of gRPC can have.
func CheckMessageSize(mib int) error {
	if mib <= 0 || mib >= 2048 {
		return fmt.Errorf("reading --max-message-size: %d MiB is no size", mib)
	}
	return nil
}
