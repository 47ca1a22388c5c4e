package e2e_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestFidelityTable compares the table of docs/explanation/fidelity.md with testdata/golden:
// the number of cases of each corpus, and the number of its cases that differences.yaml
// lists.
func TestFidelityTable(t *testing.T) {
	t.Parallel()
	const golden = "../../testdata/golden"
	var listed map[string][]struct{ Cases []string }
	e2e.NoError(t, yaml.Unmarshal([]byte(e2e.ReadFile(t, filepath.Join(golden, "differences.yaml"))), &listed))
	differ := map[string]int{}
	for corpus, all := range listed {
		for _, d := range all {
			differ[corpus] += max(len(d.Cases), 1) // an element without a list is about one case
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\S+)` \\| [^|]+ \\| (\\d+) \\| (\\d+) \\|$").FindAllStringSubmatch(e2e.ReadFile(t, "../../docs/explanation/fidelity.md"), -1)
	if len(rows) < 20 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		corpus, cases, differences := row[1], row[2], row[3]
		if got := strconv.Itoa(countCases(t, filepath.Join(golden, corpus))); got != cases {
			t.Errorf("%s has %s cases, the table says %s", corpus, got, cases)
		}
		if got := strconv.Itoa(differ[path.Base(corpus)]); got != differences {
			t.Errorf("differences.yaml lists %s cases of %s, the table says %s", got, corpus, differences)
		}
	}
}

// countCases returns the number of folders in dir. If dir has no folders, countCases returns the
// number of its YAML files.
func countCases(t *testing.T, dir string) int {
	t.Helper()
	entries := e2e.Must(os.ReadDir(dir))(t)
	folders, files := 0, 0
	for _, e := range entries {
		switch {
		case e.IsDir():
			folders++
		case filepath.Ext(e.Name()) == ".yaml":
			files++
		}
	}
	if folders > 0 {
		return folders
	}
	return files
}
