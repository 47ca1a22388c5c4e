package importer_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spf13/afero"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/render"
	"github.com/xfn-dev/xfn/templates"
	"github.com/xfn-dev/xfn/xfntest"
	"github.com/xfn-dev/xfn/xpkg"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// transport counts requests.
type transport struct{ requests atomic.Int64 }

func (tr *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	tr.requests.Add(1)
	return http.DefaultTransport.RoundTrip(req)
}

// keychain has one user of one registry.
type keychain struct{ registry string }

func (k keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if r.RegistryStr() != k.registry {
		return authn.Anonymous, nil
	}
	return &authn.Basic{Username: "ada", Password: "s3cret"}, nil
}

// private serves a registry that requires the user of keychain.
func private(t *testing.T) string {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// noSecrets is a rule of the importer's own.
func noSecrets(_ context.Context, objects []xpkg.Document) (found xpkg.Problems) {
	for _, o := range objects {
		if strings.Contains(string(o.Text), "password") {
			found = append(found, xpkg.Problem{Rule: "no-secrets", Path: o.Path, Line: o.Line, Text: "it has a password"})
		}
	}
	return found
}

// A folder becomes a package, a file, and a signed tag of a registry.
func TestPackage(t *testing.T) {
	ctx := t.Context()
	pkg := must[*xpkg.Package](t)(xpkg.Read(ctx, afero.NewOsFs(), "package", xpkg.ReadOptions{Rules: []xpkg.Rule{noSecrets}}))
	built := must[xpkg.Artifact](t)(xpkg.Build(pkg, nil, xpkg.BuildOptions{Annotations: map[string]string{"org.example": "yes"}}))
	path := filepath.Join(t.TempDir(), "buckets.xpkg")
	var written, all int64
	if err := xpkg.WriteFile(ctx, path, built, func(_ string, done, total int64) { written, all = done, total }); err != nil {
		t.Fatal(err)
	}
	if written == 0 || written != all {
		t.Errorf("the last progress was %d of %d bytes", written, all)
	}
	file := must[*xpkg.File](t)(xpkg.Open(ctx, path))
	defer file.Close()
	report := must[xpkg.Report](t)(xpkg.Lint(ctx, file.Artifact, nil, noSecrets))
	if report.Meta.Name != "buckets" || len(report.Problems) > 0 {
		t.Errorf("got %+v", report)
	}

	host := private(t)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tr := &transport{}
	opts := push.Options{Keychain: keychain{host}, Transport: tr, SignKey: key}
	from := must[name.Tag](t)(name.NewTag(host + "/acme/buckets:v0.1.0"))
	result := must[push.Result](t)(push.Artifact(ctx, from, file.Artifact, opts))
	if !result.Signed || tr.requests.Load() == 0 {
		t.Errorf("got %+v after %d requests", result, tr.requests.Load())
	}
	to := must[name.Tag](t)(name.NewTag(host + "/mirror/buckets:v0.1.0"))
	copied := must[push.CopyResult](t)(push.Copy(ctx, from, to, push.CopyOptions{Options: push.Options{Keychain: keychain{host}}}))
	if copied.Digest != result.Digest || len(copied.Attached) != 1 {
		t.Errorf("got %+v, want the digest %s and the signature", copied, result.Digest)
	}
	if _, err := remote.Head(to, remote.WithAuth(&authn.Basic{Username: "ada", Password: "s3cret"})); err != nil {
		t.Error(err)
	}
}

// Function desires a Bucket in the region of the composite resource.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (*Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	xr := req.GetObserved().GetComposite().GetResource().AsMap()
	region, _, err := unstructured.NestedString(xr, "spec", "region")
	if err != nil {
		return nil, err
	}
	bucket, err := structpb.NewStruct(map[string]any{"apiVersion": "s3.example.org/v1", "kind": "Bucket", "spec": map[string]any{"region": region}})
	if err != nil {
		return nil, err
	}
	return &fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"bucket": {Resource: bucket, Ready: fnv1.Ready_READY_TRUE}}}}, nil
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(must[[]byte](t)(os.ReadFile(path)), into); err != nil {
		t.Fatal(err)
	}
}

// A Composition is rendered with a function in process, and over gRPC.
func TestRender(t *testing.T) {
	req := render.Request{XR: &unstructured.Unstructured{}, Composition: &apiextv1.Composition{}}
	decode(t, "xr.yaml", &req.XR.Object)
	decode(t, "package/composition.yaml", req.Composition)
	req.Composition.Spec.Pipeline = req.Composition.Spec.Pipeline[:1]
	inProcess := function.RunnerFunc(func(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return (&Function{}).RunFunction(ctx, req)
	})

	lis := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- grpc.Serve(ctx, lis, "function-bucket", inProcess, grpc.ServeOptions{}) }()
	client := must[*grpc.Client](t)(grpc.Dial(lis.Addr().String(), grpc.Options{}))
	for how, run := range map[string]function.Runner{"in process": inProcess, "gRPC": client} {
		got := must[*render.Result](t)(render.Render(t.Context(), function.Mux{"function-bucket": run}, req))
		if region, _, _ := unstructured.NestedString(got.Composed[0], "spec", "region"); region != "eu-north-1" {
			t.Errorf("%s: got %v", how, got.Composed)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestFunction(t *testing.T) {
	got := xfntest.Render(t, xfntest.Case{
		XR: "xr.yaml", XRD: "package/xrd.yaml", Composition: "package/composition.yaml",
		Functions: map[string]fnv1.FunctionRunnerServiceServer{"function-bucket": &Function{}},
	})
	if got.Composed["bucket"] == nil {
		t.Errorf("got %v", got.Composed)
	}
	got.Golden(t, filepath.Join("golden", "bucket.yaml"))
}

func TestScaffold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "function-mine")
	res := must[scaffold.Result](t)(scaffold.Init(t.Context(), scaffold.Options{
		Name: "function-mine", Template: templates.Names()[0], Dir: dir, Warn: func(text string) { t.Error(text) },
	}))
	if _, err := os.Stat(filepath.Join(res.Dir, "go.mod")); err != nil {
		t.Error(err)
	}
}
