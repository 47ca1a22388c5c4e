module importer.example.org

go 1.26.0

require (
	github.com/crossplane/crossplane/apis/v2 v2.3.4
	github.com/crossplane/function-sdk-go v0.7.1
	github.com/google/go-containerregistry v0.22.1
	github.com/spf13/afero v1.15.0
	github.com/xfn-dev/xfn v0.0.0
	google.golang.org/protobuf v1.36.11
	k8s.io/apimachinery v0.35.3
	sigs.k8s.io/yaml v1.6.0
)

replace github.com/xfn-dev/xfn => ../..
