package flags

import (
	"os"
	"path/filepath"
	"testing"
)

// Google Cloud is asked only where there is something of it.
func TestClouds(t *testing.T) {
	home, empty := t.TempDir(), t.TempDir()
	const adc = "application_default_credentials.json"
	for path, mode := range map[string]os.FileMode{".config/gcloud/" + adc: 0o600, "roaming/gcloud/" + adc: 0o600, "named/" + adc: 0o600, "bin/gcloud": 0o700, "bin/gcloud.exe": 0o700, "product": 0o600, "other": 0o600} {
		path = filepath.Join(home, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "Google Compute Engine\n"
		if filepath.Base(path) == "other" {
			text = "Standard PC\n"
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	none := filepath.Join(empty, "none")
	cases := map[string]struct {
		reason  string
		env     []string
		product string
		want    int
	}{
		"Nothing": {"a machine without", []string{"HOME=" + empty, "PATH=" + empty}, none, 0},
		"Named":   {"a file that is named", []string{"GOOGLE_APPLICATION_CREDENTIALS=x"}, none, 1},
		"Server":  {"a metadata server that is named", []string{"GCE_METADATA_HOST=x"}, none, 1},
		"Default": {"a file where it is by default", []string{"HOME=" + home}, none, 1},
		"Windows": {"or where Windows has it", []string{"HOME=" + empty, "APPDATA=" + filepath.Join(home, "roaming")}, none, 1},
		"Config":  {"or where gcloud is told", []string{"HOME=" + empty, "CLOUDSDK_CONFIG=" + filepath.Join(home, "named")}, none, 1},
		"Program": {"gcloud itself", []string{"HOME=" + empty, "PATH=" + filepath.Join(home, "bin")}, none, 1},
		"Machine": {"a machine of Google's", []string{"HOME=" + empty}, filepath.Join(home, "product"), 1},
		"Other":   {"and of somebody else's", []string{"HOME=" + empty}, filepath.Join(home, "other"), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := clouds(tc.env, tc.product); len(got) != tc.want {
				t.Errorf("%s: got %d", tc.reason, len(got))
			}
		})
	}
}
