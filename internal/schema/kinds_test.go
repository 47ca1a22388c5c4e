package schema_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

func find(t testing.TB, apiVersion, kind string) schema.Kind {
	t.Helper()
	k, ok := schema.FindKind(kschema.FromAPIVersionAndKind(apiVersion, kind))
	if !ok {
		t.Fatalf("there is no kind %s of %s", kind, apiVersion)
	}
	return k
}

func kindsObject(t testing.TB, text string) map[string]any {
	t.Helper()
	return e2e.Must(manifest.Document{Path: "f.yaml", Line: 1, Text: []byte(text)}.Object())(t)
}

func TestFind(t *testing.T) {
	cases := map[string]struct {
		reason, apiVersion, kind string
		want, namespaced         bool
	}{
		"Core":          {"a kind of the core group is found", "v1", "ConfigMap", true, true},
		"Group":         {"a kind of a named group is found", "networking.k8s.io/v1", "Ingress", true, true},
		"Cluster":       {"a cluster-scoped kind is found", "rbac.authorization.k8s.io/v1", "ClusterRole", true, false},
		"Crossplane":    {"a kind of Crossplane is not found, because it has a definition", "apiextensions.crossplane.io/v1", "Composition", false, false},
		"Meta":          {"a kind of package metadata is found", "meta.pkg.crossplane.io/v1", "Function", true, false},
		"List":          {"a list kind is not found", "v1", "ConfigMapList", false, false},
		"Options":       {"options of requests are not found", "apps/v1", "DeleteOptions", false, false},
		"Removed":       {"a removed version is not found", "extensions/v1beta1", "Deployment", false, false},
		"Elsewhere":     {"a kind of a CRD is not found", "example.org/v1", "Widget", false, false},
		"NoSuchVersion": {"an unknown version is not found", "apps/v9", "Deployment", false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, ok := schema.FindKind(kschema.FromAPIVersionAndKind(tc.apiVersion, tc.kind))
			e2e.Equal(t, tc.reason, tc.want, ok)
			e2e.Equal(t, tc.reason, tc.namespaced, k.Namespaced)
		})
	}
}

func TestSimilarKind(t *testing.T) {
	cases := map[string]struct{ reason, apiVersion, kind, want string }{
		"Crossplane": {"a misspelled kind of Crossplane is found", "apiextensions.crossplane.io/v1", "Compostion", "Composition"},
		"Meta":       {"a misspelled kind of package metadata is found", "meta.pkg.crossplane.io/v1", "Configuraton", "Configuration"},
		"Core":       {"a misspelled kind of the core group is found", "v1", "Configmap", "ConfigMap"},
		"Exact":      {"a kind that exists is not replaced by a similar one", "v1", "Service", ""},
		"OtherGroup": {"kinds of other groups are not suggested", "example.org/v1", "Compostion", ""},
		"Different":  {"a kind without a similar one has no suggestion", "v1", "Bucket", ""},
		"NoKind":     {"an object without a kind has no suggestion", "v1", "", ""},
		"NoVersion":  {"an object without an apiVersion has no suggestion", "", "Pd", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, schema.SimilarKind(tc.apiVersion, tc.kind))
		})
	}
}

func TestMisspelled(t *testing.T) {
	cases := map[string]struct{ reason, apiVersion, kind, want string }{
		"Beta":        {"a misspelled stage of a version is found", "rds.aws.upbound.io/v1bet1", "Instance", "rds.aws.upbound.io/v1beta1"},
		"Swapped":     {"letters may be swapped", "apps/v1aplha2", "Deployment", "apps/v1alpha2"},
		"Group":       {"a group without a dot can only be one of Kubernetes", "app/v1", "Deployment", "apps/v1"},
		"Kind":        {"a misspelled kind of Kubernetes is found", "apps/v1", "Deploymnt", "Deployment"},
		"Exact":       {"a kind of Kubernetes has no mistake", "storage.k8s.io/v1", "StorageClass", ""},
		"Usual":       {"a usual kind has no mistake", "apps/v1", "Deployment", ""},
		"Stage":       {"a version with a stage has no mistake", "example.org/v2beta3", "Deploymnt", ""},
		"Word":        {"a version may be another word", "example.org/v1edge1", "X", ""},
		"Other":       {"a group that is not similar has no suggestion", "crossbar/v1", "X", ""},
		"NewKind":     {"a kind may be newer than the types", "networking.k8s.io/v1", "Gateway", ""},
		"NoVersion":   {"an apiVersion with a dot and no slash has no version", "s3.aws.upbound.io", "Bucket", "s3.aws.upbound.io/VERSION"},
		"NoGroup":     {"a kind of another group is not in the core group", "v1", "Deployment", "apps/v1"},
		"OtherGroup":  {"a kind of the core group is not in another group", "apps/v1", "Service", "v1"},
		"Removed":     {"Kubernetes removed the group extensions", "extensions/v1beta1", "Deployment", "apps/v1"},
		"RemovedBeta": {"Kubernetes removed a beta version of a stable kind", "networking.k8s.io/v1beta1", "Ingress", "networking.k8s.io/v1"},
		"Newest":      {"the newest version replaces a removed one", "autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2"},
		"Beta2":       {"supported releases of Kubernetes have this beta version", "resource.k8s.io/v1beta2", "ResourceClaim", ""},
		"Newer":       {"a version may be newer than the types", "apps/v2", "Deployment", ""},
		"CRDGroup":    {"a group of CRDs may have a kind with the name of one of Kubernetes", "x.networking.k8s.io/v1", "Ingress", ""},
		"None":        {"an object without a kind has no suggestion", "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, schema.Misspelled(tc.apiVersion, tc.kind))
		})
	}
}

func TestKindsNames(t *testing.T) {
	cases := map[string]struct {
		reason, apiVersion, kind, name string
		want                           bool
	}{
		"Subdomain": {"the name of a ConfigMap may have dots", "v1", "ConfigMap", "a.b-c", true},
		"Capital":   {"the name of a ConfigMap has no capitals", "v1", "ConfigMap", "A", false},
		"Namespace": {"the name of a namespace has no dots", "v1", "Namespace", "a.b", false},
		"Service":   {"the name of a Service begins with a letter", "v1", "Service", "1a", false},
		"Role":      {"the name of a role may have colons and capitals", "rbac.authorization.k8s.io/v1", "ClusterRole", "system:Node", true},
		"RoleSlash": {"the name of a role has no slashes", "rbac.authorization.k8s.io/v1", "Role", "a/b", false},
		"CronJob":   {"the name of a CronJob has at most 52 characters", "batch/v1", "CronJob", strings.Repeat("a", 53), false},
		"ShortCron": {"the name of a CronJob may have 52 characters", "batch/v1", "CronJob", strings.Repeat("a", 52), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, len(find(t, tc.apiVersion, tc.kind).Name(tc.name, false)) == 0)
		})
	}
}

var (
	scopeMark = regexp.MustCompile(`^//\s*\+(genclient:nonNamespaced|kubebuilder:resource:.*scope=Cluster)`)
	typeName  = regexp.MustCompile(`^type (\w+) struct`)
)

// TestScopes compares clusterScoped with the markers in the Go sources of Kubernetes'
// kinds that say whether they are namespaced.
func TestScopes(t *testing.T) {
	if testing.Short() {
		t.Skip("it parses the sources of Kubernetes")
	}
	packages := []string{
		"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	}
	for _, p := range strings.Fields("admissionregistration/v1 apps/v1 autoscaling/v2 batch/v1 certificates/v1 coordination/v1 core/v1 discovery/v1 events/v1 flowcontrol/v1 networking/v1 node/v1 policy/v1 rbac/v1 resource/v1 scheduling/v1 storage/v1") {
		packages = append(packages, "k8s.io/api/"+p)
	}
	dirs := sources(t, packages...)
	for i, pkg := range packages {
		t.Run(pkg, func(t *testing.T) { compareScopes(t, dirs[i], filepath.Base(pkg)) })
	}
}

// sources returns the folders with the sources of packages.
func sources(t *testing.T, packages ...string) []string {
	t.Helper()
	out := e2e.Output(t, exec.CommandContext(e2e.Context(t), "go", append([]string{"list", "-find", "-f", "{{.Dir}}"}, packages...)...))
	dirs := strings.Fields(out)
	if len(dirs) != len(packages) {
		t.Fatalf("found %d of %d sources", len(dirs), len(packages))
	}
	return dirs
}

func compareScopes(t *testing.T, dir, version string) {
	group := groupOf(t, dir)
	files := e2e.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	seen := 0
	for _, file := range files {
		text := []byte(e2e.ReadFile(t, file))
		cluster := false
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			line := lines.Text()
			switch m := typeName.FindStringSubmatch(line); {
			case scopeMark.MatchString(line):
				cluster = true
			case m != nil:
				k, ok := schema.FindKind(kschema.GroupVersionKind{Group: group, Version: version, Kind: m[1]})
				if ok && k.Namespaced == cluster {
					t.Errorf("%s of %s: got namespaced %t", m[1], group, k.Namespaced)
				}
				if ok {
					seen++
				}
				cluster = false
			}
		}
	}
	if seen == 0 {
		t.Errorf("no kind of %s/%s is known", group, version)
	}
}

var groupName = regexp.MustCompile(`(?:GroupName|Group)\s+= "([^"]*)"`)

// groupOf returns the name of the API group that the Go package in dir registers.
func groupOf(t *testing.T, dir string) string {
	t.Helper()
	for _, file := range []string{"register.go", "../register.go"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if m := groupName.FindSubmatch(text); err == nil && m != nil {
			return string(m[1])
		}
	}
	t.Fatalf("%s has no group name", dir)
	return ""
}

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		reason, apiVersion, kind, text string
		want                           []string
	}{
		"Good":     {"a valid object has no faults", "v1", "Pod", `{metadata: {labels: {a: b}, creationTimestamp: null}, spec: {containers: [{name: a, ports: [{containerPort: 1}], resources: {limits: {cpu: 100m, memory: 1}}, livenessProbe: {httpGet: {port: http}}}]}}`, nil},
		"Unknown":  {"each unknown field is a fault with a similar field", "apps/v1", "Deployment", `{spec: {repilcas: 1, template: {spec: {containers: [{nme: a}, {image: b, colour: c}]}}}}`, []string{`unknown field "spec.repilcas" (replicas)`, `unknown field "spec.template.spec.containers[0].nme" (name)`, `unknown field "spec.template.spec.containers[1].colour" ()`}},
		"Misfits":  {"each value of another type is a fault", "apps/v1", "Deployment", `{spec: {replicas: many, paused: 1, template: {spec: {containers: [{name: {a: b}}, {args: x}]}}}}`, []string{`spec.paused: Invalid value: 1: must be a boolean, not the number 1 ()`, `spec.replicas: Invalid value: "many": must be a whole number of 32 bits, not a string ()`, `spec.template.spec.containers[0].name: Invalid value: must be a string, not an object ()`, `spec.template.spec.containers[1].args: Invalid value: "x": must be a list, not a string ()`}},
		"Wide":     {"a number above 32 bits is a fault", "apps/v1", "Deployment", `{spec: {replicas: 3000000000}}`, []string{`spec.replicas: Invalid value: 3000000000: must be a whole number of 32 bits, not the number 3000000000 ()`}},
		"Fraction": {"a fraction in an integer field is a fault", "apps/v1", "Deployment", `{spec: {replicas: 1.5}}`, []string{`spec.replicas: Invalid value: 1.5: must be a whole number of 32 bits, not a number with a fraction ()`}},
		"Quantity": {"a type with its own decoder returns its error", "v1", "PersistentVolumeClaim", `{spec: {resources: {requests: {storage: much}}}}`, []string{"spec.resources.requests[storage]: Invalid value: \"much\": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' ()"}},
		"Bytes":    {"data of Secrets is base64, and no message has a value", "v1", "Secret", `{data: {a: "!", c: 5}, stringData: {b: 1}}`, []string{`data[a]: Invalid value: must be text in base64 ()`, `data[c]: Invalid value: must be text in base64 ()`, `stringData[b]: Invalid value: must be a string ()`}},
		"Time":     {"a time must be in RFC 3339 format", "v1", "Pod", `{metadata: {creationTimestamp: today}}`, []string{"metadata.creationTimestamp: Invalid value: \"today\": parsing time \"today\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"today\" as \"2006\" ()"}},
		"Case":     {"field names are case-sensitive", "v1", "ConfigMap", `{Data: {}}`, []string{`unknown field "Data" (data)`}},
		"Labels":   {"labels must be strings", "v1", "ConfigMap", `{metadata: {labels: {a.b/c: yes}}}`, []string{"metadata.labels[a.b/c]: Invalid value: true: must be a string, not a boolean ()"}},
		"Inline":   {"fields of embedded types are known", "meta.pkg.crossplane.io/v1", "Provider", `{spec: {crossplane: {version: ">=v2.0.0"}, capabilities: [safe-start], dependOn: []}}`, []string{`unknown field "spec.dependOn" (dependsOn)`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range find(t, tc.apiVersion, tc.kind).Decode(kindsObject(t, tc.text)) {
				got = append(got, fmt.Sprintf("%s (%s)", f, f.Nearest))
			}
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestCheckSchedule(t *testing.T) {
	cases := map[string]struct{ reason, schedule, err string }{
		"Fields":    {"five fields are a schedule", "*/5 0-3 * * MON-FRI", ""},
		"Named":     {"a schedule can have a name", "@daily", ""},
		"Every":     {"a schedule can be an interval", "@every 1h", ""},
		"Zone":      {"a time zone can precede the fields", "CRON_TZ=UTC 0 3 * * *", ""},
		"OnlyZone":  {"a time zone alone is not a schedule", "TZ=UTC", "nothing follows the time zone"},
		"OnlyZone2": {"a time zone of a crontab alone is not a schedule", "CRON_TZ=UTC", "nothing follows the time zone"},
		"Blank":     {"spaces after a time zone are not a schedule", "TZ=UTC ", "found 0"},
		"NoZone":    {"the time zone must exist", "TZ=Nowhere 0 3 * * *", "provided bad location Nowhere"},
		"Seconds":   {"a field for seconds is not allowed", "0 0 3 * * *", "found 6"},
		"Leap":      {"a date of leap years is a date", "0 0 29 2 *", ""},
		"Never":     {"a date must exist", "0 0 31 2 *", "no date matches"},
		"Empty":     {"a schedule is not empty", "", "empty spec string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := schema.CheckSchedule(tc.schedule)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}
