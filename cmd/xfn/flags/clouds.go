package flags

import (
	"github.com/google/go-containerregistry/pkg/v1/google"

	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// clouds returns the keychains of the clouds for which this machine may have credentials.
// The keychain of any other cloud would search for credentials for seconds, and delay
// pulls of public images.
func clouds(env []string, productName string) []credentials.Other {
	var others []credentials.Other
	if hasGoogle(env, productName) {
		others = append(others, credentials.Other{Name: "Google Cloud", Keychain: google.Keychain})
	}
	return others
}
