package push_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/xfn-dev/xfn/push"
)

// An image, or an index of images, becomes a tag. A second push uploads nothing.
func ExampleArtifact() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/acme/empty:v0.1.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		result, err := push.Artifact(context.Background(), ref, empty.Image, push.Options{Keychain: authn.DefaultKeychain})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(result.References), result.MediaType, result.Sent > 0, result.Skipped > 0)
	}
	// Output:
	// 1 application/vnd.docker.distribution.manifest.v2+json true false
	// 1 application/vnd.docker.distribution.manifest.v2+json false true
}

// A package is copied with its digest.
func ExampleCopy() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repo, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/acme/empty")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	pushed, err := push.Artifact(ctx, repo.Tag("v0.1.0-rc.1"), empty.Image, push.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	copied, err := push.Copy(ctx, repo.Tag("v0.1.0-rc.1"), repo.Tag("v0.1.0"), push.CopyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(copied.Digest == pushed.Digest, copied.Sent)
	// Output: true 0
}
