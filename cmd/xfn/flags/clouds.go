package flags

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/google"

	"github.com/xfn-dev/xfn/internal/proc"
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

// productName is the file in which Linux names the machine's model.
const productName = "/sys/class/dmi/id/product_name"

// hasGoogle reports whether this machine has Application Default Credentials or
// gcloud, or runs in Google Cloud.
func hasGoogle(env []string, productName string) bool {
	get := func(key string) string { return proc.Getenv(env, key) }
	if get("GOOGLE_APPLICATION_CREDENTIALS") != "" || get("GCE_METADATA_HOST") != "" {
		return true
	}
	for _, dir := range []string{filepath.Join(get("HOME"), ".config"), get("APPDATA")} {
		dir = cmp.Or(get("CLOUDSDK_CONFIG"), filepath.Join(dir, "gcloud"))
		if _, err := os.Stat(filepath.Join(dir, "application_default_credentials.json")); err == nil {
			return true
		}
	}
	if _, err := proc.LookPath("gcloud", env); err == nil {
		return true
	}
	product, err := os.ReadFile(productName)
	return err == nil && strings.HasPrefix(string(product), "Google")
}
