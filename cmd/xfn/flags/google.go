package flags

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/proc"
)

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
