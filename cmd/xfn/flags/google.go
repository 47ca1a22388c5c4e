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

// productName is how Linux names the machine: "Google Compute Engine".
const productName = "/sys/class/dmi/id/product_name"

// clouds are the keychains of clouds that this machine has something of. Asking
// in vain takes seconds, which whoever pulls a public image need not wait.
func clouds(env []string, productName string) []credentials.Other {
	if !hasGoogle(env, productName) {
		return nil
	}
	return []credentials.Other{{Name: "Google Cloud", Keychain: google.Keychain}}
}

// hasGoogle looks for Application Default Credentials, gcloud, and a machine of
// Google's.
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
