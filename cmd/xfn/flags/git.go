package flags

import (
	"net/http"
	"time"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/project/generate"
	"github.com/xfn-dev/xfn/internal/remote"
)

// Git are the flags for git repositories with CRDs.
type Git struct {
	GitToken    string `more:"" env:"CROSSPLANE_GIT_TOKEN" empty:"" placeholder:"TOKEN" help:"Token for git repositories at https URLs."`
	GitUsername string `more:"" env:"CROSSPLANE_GIT_USERNAME" default:"x-access-token" empty:"" placeholder:"NAME" help:"User name for --git-token. Default: ${default}."`
}

// Fetcher returns a Fetcher that reads packages through the cache in dir. The caller closes
// its Store.
func (g Git) Fetcher(dir, registry string, images image.Options) (*generate.Fetcher, error) {
	store, err := image.Open(dir)
	if err != nil {
		return nil, err
	}
	f := g.files(images)
	f.Store, f.Registry = store, registry
	return f, nil
}

// files returns a Fetcher without a cache, which reads dependencies other than packages. It trusts
// the CAs that the client of the registries trusts.
func (g Git) files(images image.Options) *generate.Fetcher {
	client := images.Remote
	if client == nil {
		client = remote.New(remote.Options{Progress: images.Progress})
	}
	return &generate.Fetcher{
		Images: images, HTTP: &http.Client{Timeout: 5 * time.Minute, Transport: client},
		GitUser: g.GitUsername, GitToken: g.GitToken, Kubernetes: generate.KubernetesURL,
	}
}
