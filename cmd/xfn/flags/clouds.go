package flags

import (
	"github.com/google/go-containerregistry/pkg/v1/google"

	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// clouds returns the keychains of the clouds that this machine has credentials
// of. A keychain without credentials needs seconds to find that out, and pulls of
// public images would wait for it.
func clouds(env []string, productName string) []credentials.Other {
	var others []credentials.Other
	if hasGoogle(env, productName) {
		others = append(others, credentials.Other{Name: "Google Cloud", Keychain: google.Keychain})
	}
	return others
}
