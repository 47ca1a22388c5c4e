package project

// A file is the content of a project file of either dialect.
type file struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	CreationTimestamp any               `json:"creationTimestamp"`
}

type spec struct {
	Repository  string `json:"repository"`
	Maintainer  string `json:"maintainer"`
	Source      string `json:"source"`
	License     string `json:"license"`
	Description string `json:"description"`
	Readme      string `json:"readme"`
	Crossplane  struct {
		Version string `json:"version"`
	} `json:"crossplane"`
	Paths Paths `json:"paths"`
	// Architectures is nil if the file does not have the field.
	Architectures []string `json:"architectures"`

	// These fields are only in the dialect Crossplane.
	Dependencies []Dependency     `json:"dependencies"`
	Functions    []listedFunction `json:"functions"`
	Schemas      *struct {
		Languages []string `json:"languages"`
	} `json:"schemas"`
	ImageConfigs []imageConfig `json:"imageConfigs"`

	// These fields are only in the dialect Upbound.
	AdditionalMetadata map[string]string `json:"additionalMetadata"`
	DependsOn          []dependsOn       `json:"dependsOn"`
	APIDependencies    []Dependency      `json:"apiDependencies"`
	ImageConfig        []rewriting       `json:"imageConfig"`
	DevControlPlane    any               `json:"devControlPlane"`
}

// fieldsOf are the fields of a spec that only one dialect has.
var fieldsOf = map[Dialect][]string{
	Crossplane: {"dependencies", "functions", "schemas", "imageConfigs"},
	Upbound:    {"additionalMetadata", "dependsOn", "apiDependencies", "imageConfig", "devControlPlane"},
}

// insteadOf maps a field of one dialect to the field of the other with the same purpose.
var insteadOf = map[string]string{
	"dependencies": "dependsOn", "imageConfigs": "imageConfig",
	"dependsOn": "dependencies", "apiDependencies": "dependencies", "imageConfig": "imageConfigs",
}

// dependsOn is a dependency of Upbound. One of Package, Provider, Function and Configuration
// is set.
type dependsOn struct {
	APIVersion    string `json:"apiVersion"`
	Kind          string `json:"kind"`
	Package       string `json:"package"`
	Provider      string `json:"provider"`
	Function      string `json:"function"`
	Configuration string `json:"configuration"`
	Version       string `json:"version"`
}

type listedFunction struct {
	Source    string `json:"source"`
	Directory *struct {
		Name string `json:"name"`
	} `json:"directory"`
	Tarball *struct {
		Name       string `json:"name"`
		PathPrefix string `json:"pathPrefix"`
	} `json:"tarball"`
}

// An imageConfig is an ImageConfig of pkg.crossplane.io.
type imageConfig struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   any       `json:"metadata"`
	Spec       rewriting `json:"spec"`
}

type rewriting struct {
	MatchImages []struct {
		Type   string `json:"type"`
		Prefix string `json:"prefix"`
	} `json:"matchImages"`
	RewriteImage struct {
		Prefix string `json:"prefix"`
	} `json:"rewriteImage"`
	// Crossplane uses these fields in a cluster only.
	Registry     any `json:"registry"`
	Verification any `json:"verification"`
	Runtime      any `json:"runtime"`
}
