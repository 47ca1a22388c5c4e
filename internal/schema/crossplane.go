package schema

import (
	"archive/zip"
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// crossplaneFiles has an archive for each Release, with the CRDs that Crossplane installs, without
// their descriptions. The files in it have the names of the kinds, such as
// "Composition.apiextensions.crossplane.io". TestCrossplaneFiles writes the archives.
//
//go:embed crossplane
var crossplaneFiles embed.FS

// A Release is a release of Crossplane whose CRDs are built in. The zero value is V2_3.
type Release string

// The releases whose CRDs are built in, one for each Crossplane that a render can imitate.
const (
	V2_3  Release = "v2.3.4"
	V2_2  Release = "v2.2.0"
	V1_20 Release = "v1.20.11"
	V1_14 Release = "v1.14.0"
)

// Releases returns all releases, the newest first.
func Releases() []Release { return []Release{V2_3, V2_2, V1_20, V1_14} }

// Legacy reports whether the release has Compositions of mode Resources.
func (r Release) Legacy() bool { return r == V1_20 || r == V1_14 }

// crossplane has the definitions of each release by kind. A CRD is unpacked and decoded when its kind is
// first used.
var crossplane = map[Release]func() map[string]func() *Definition{
	V2_3:  sync.OnceValue(V2_3.read),
	V2_2:  sync.OnceValue(V2_2.read),
	V1_20: sync.OnceValue(V1_20.read),
	V1_14: sync.OnceValue(V1_14.read),
}

// Definition returns the definition of a kind of Crossplane, such as Composition, or nil if
// the release has no such kind. It is safe for concurrent use.
func (r Release) Definition(kind schema.GroupKind) *Definition {
	decode, ok := crossplane[cmp.Or(r, V2_3)]()[kind.String()]
	if !ok {
		return nil
	}
	return decode()
}

func (r Release) read() map[string]func() *Definition {
	packed, err := crossplaneFiles.ReadFile("crossplane/" + string(r) + ".zip")
	if err != nil {
		panic(err) // The file is embedded.
	}
	files, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		// A test reads the file.
		panic(fmt.Sprintf("reading the CRDs of Crossplane %s: %v", r, err))
	}
	all := make(map[string]func() *Definition, len(files.File))
	for _, f := range files.File {
		all[f.Name] = sync.OnceValue(func() *Definition {
			def, err := unpack(f)
			if err != nil {
				panic(fmt.Sprintf("reading the CRD of %s: %v", f.Name, err))
			}
			return def
		})
	}
	return all
}

func unpack(f *zip.File) (*Definition, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var crd map[string]any
	if err := utiljson.Unmarshal(data, &crd); err != nil {
		return nil, err
	}
	return New(crd)
}

// CronOperation is the kind that has a schedule.
var CronOperation = schema.GroupKind{Group: "ops.crossplane.io", Kind: "CronOperation"}

// CheckSchedule returns an error if Crossplane cannot parse the schedule of a CronOperation, or if
// no date matches it. The API server accepts any text, but Crossplane then creates no Operation.
func CheckSchedule(schedule string) error {
	var (
		err   error
		times cron.Schedule
	)
	zone, _, hasFields := strings.Cut(schedule, " ")
	if strings.Contains(zone, "TZ=") && !hasFields { // ParseStandard panics.
		err = errors.New("nothing follows the time zone")
	} else {
		times, err = cron.ParseStandard(schedule)
	}
	// Next returns the zero time if no time within five years matches.
	if err == nil && times.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return errors.New("no date matches the schedule")
	}
	if err != nil {
		return fmt.Errorf("not a cron schedule, such as \"0 3 * * *\" or \"@daily\": %w", err)
	}
	return nil
}
