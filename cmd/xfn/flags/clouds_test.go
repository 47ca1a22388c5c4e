package flags

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// Credentials of Google Cloud are requested only if the machine may have some.
func TestClouds(t *testing.T) {
	home, empty := t.TempDir(), t.TempDir()
	const adc = "application_default_credentials.json"
	for path, mode := range map[string]os.FileMode{".config/gcloud/" + adc: 0o600, "roaming/gcloud/" + adc: 0o600, "named/" + adc: 0o600, "bin/gcloud": 0o700, "bin/gcloud.exe": 0o700, "product": 0o600, "other": 0o600} {
		path = filepath.Join(home, filepath.FromSlash(path))
		e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		text := "Google Compute Engine\n"
		if filepath.Base(path) == "other" {
			text = "Standard PC\n"
		}
		e2e.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	none := filepath.Join(empty, "none")
	cases := map[string]struct {
		reason  string
		env     []string
		product string
		want    int
	}{
		"Nothing": {"without credentials, no cloud is asked", []string{"HOME=" + empty, "PATH=" + empty}, none, 0},
		"Named":   {"a file in the environment has credentials", []string{"GOOGLE_APPLICATION_CREDENTIALS=x"}, none, 1},
		"Server":  {"a metadata server in the environment has credentials", []string{"GCE_METADATA_HOST=x"}, none, 1},
		"Default": {"a file at its default path has credentials", []string{"HOME=" + home}, none, 1},
		"Windows": {"a file at its default path on Windows has credentials", []string{"HOME=" + empty, "APPDATA=" + filepath.Join(home, "roaming")}, none, 1},
		"Config":  {"a file in gcloud's configuration directory has credentials", []string{"HOME=" + empty, "CLOUDSDK_CONFIG=" + filepath.Join(home, "named")}, none, 1},
		"Program": {"the program gcloud has credentials", []string{"HOME=" + empty, "PATH=" + filepath.Join(home, "bin")}, none, 1},
		"Machine": {"a machine of Google has credentials", []string{"HOME=" + empty}, filepath.Join(home, "product"), 1},
		"Other":   {"a machine of another vendor has no credentials", []string{"HOME=" + empty}, filepath.Join(home, "other"), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, len(clouds(tc.env, tc.product)))
		})
	}
}
