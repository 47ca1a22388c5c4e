package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gittcp "github.com/go-git/go-git/v5/plumbing/transport/git"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// A remote reads from a repository of another machine, or of this one by a
// server.
type remote struct {
	location
	limit    int64
	progress progress.Func
}

// read finds ref among what the server advertises, and transfers its commit.
func (r *remote) read(ctx context.Context, ref string) (Snapshot, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer conn.close()
	hash, name, found := lookup(conn.refs, ref)
	switch {
	case found:
		return r.transfer(ctx, conn, hash, name)
	case fullHash().MatchString(ref):
		return r.byHash(ctx, conn, plumbing.NewHash(ref))
	case shortHash().MatchString(ref):
		return r.fromHistory(ctx, conn, ref)
	}
	return Snapshot{}, missing(conn.refs, ref)
}

// transfer gets one commit without its history.
func (r *remote) transfer(ctx context.Context, conn *connection, hash plumbing.Hash, name string) (Snapshot, error) {
	objects, err := r.fetch(ctx, conn, 1, hash)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot(objects, hash, name)
}

// byHash asks for a commit that may be the tip of nothing. Not every server
// sends such a one; then it has to be in the history of something.
func (r *remote) byHash(ctx context.Context, conn *connection, hash plumbing.Hash) (Snapshot, error) {
	if s, err := r.transfer(ctx, conn, hash, "HEAD"); err == nil {
		return s, nil
	}
	again, err := r.dial(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer again.close()
	return r.fromHistory(ctx, again, hash.String())
}

// fromHistory gets everything that a branch or a tag leads to, and looks for
// the commit there.
func (r *remote) fromHistory(ctx context.Context, conn *connection, hash string) (Snapshot, error) {
	var tips []plumbing.Hash
	for name, ref := range conn.refs {
		if ref.Type() == plumbing.HashReference && (name == plumbing.HEAD || name.IsBranch() || name.IsTag()) {
			tips = append(tips, ref.Hash())
		}
	}
	if len(tips) == 0 {
		return Snapshot{}, missing(conn.refs, hash)
	}
	objects, err := r.fetch(ctx, conn, 0, tips...)
	if err != nil {
		return Snapshot{}, err
	}
	commit, err := expand(ctx, objects, hash)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot(objects, commit, "HEAD")
}

// A connection is one conversation with a server that has said what it has.
type connection struct {
	session      transport.UploadPackSession
	refs         memory.ReferenceStorage
	capabilities *capability.List
}

func (r *remote) dial(ctx context.Context) (*connection, error) {
	// A session changes its endpoint when it is redirected.
	endpoint := *r.endpoint
	session, err := r.client().NewUploadPackSession(&endpoint, r.auth)
	if err != nil {
		return nil, explain(err, endpoint.Protocol)
	}
	conn := &connection{session: session}
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		conn.close()
		return nil, explain(err, endpoint.Protocol)
	}
	conn.capabilities = adv.Capabilities
	conn.refs, err = references(adv)
	if err != nil {
		conn.close()
		return nil, fmt.Errorf("reading the server's references: %w", err)
	}
	return conn, nil
}

// close ends the conversation. Nothing was written, so nothing can be lost.
func (c *connection) close() { _ = c.session.Close() }

func (r *remote) client() transport.Transport {
	switch r.endpoint.Protocol {
	case "ssh":
		return gitssh.DefaultClient
	case "git":
		return gittcp.DefaultClient
	}
	return githttp.NewClient(&http.Client{Transport: capped{limit: 2 * r.limit}})
}

// capped is the default transport of HTTP with bodies of at most limit bytes:
// go-git reads a list of references, or what comes with an error, to its end.
type capped struct {
	limit int64
}

func (c capped) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body = http.MaxBytesReader(nil, res.Body, c.limit)
	return res, nil
}

// references returns what the server advertises, HEAD in any case: go-git
// leaves it out, with an error or without, if it is the tip of no branch.
func references(adv *packp.AdvRefs) (memory.ReferenceStorage, error) {
	refs, err := adv.AllReferences()
	if adv.Head == nil {
		return refs, err
	}
	if _, ok := refs[plumbing.HEAD]; !ok {
		refs[plumbing.HEAD] = plumbing.NewHashReference(plumbing.HEAD, *adv.Head)
	}
	return refs, nil
}

// fetch transfers wants and what they consist of; of their history depth
// commits, or all for 0 and from a server that knows no depth.
func (r *remote) fetch(ctx context.Context, conn *connection, depth int, wants ...plumbing.Hash) (*memory.Storage, error) {
	req := packp.NewUploadPackRequestFromCapabilities(conn.capabilities)
	req.Wants = wants
	if depth > 0 && conn.capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(depth)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	resp, err := conn.session.UploadPack(ctx, req)
	if err != nil {
		return nil, explain(err, r.endpoint.Protocol)
	}
	defer func() { _ = resp.Close() }()
	pack, err := r.receive(demux(req.Capabilities, resp))
	if err != nil {
		return nil, err
	}
	if err := checkPack(pack, r.limit); err != nil {
		return nil, err
	}
	objects := memory.NewStorage()
	if err := packfile.UpdateObjectStorage(objects, bytes.NewReader(pack)); err != nil {
		return nil, fmt.Errorf("unpacking what the server sent: %w", err)
	}
	return objects, nil
}

// receive reads a pack of at most r.limit bytes.
func (r *remote) receive(from io.Reader) ([]byte, error) {
	var pack bytes.Buffer
	for {
		_, err := io.CopyN(&pack, from, 64<<10)
		r.progress.Send(progress.Event{Kind: progress.Bytes, Text: "fetching", Done: int64(pack.Len())})
		switch {
		case int64(pack.Len()) > r.limit:
			return nil, tooLarge(r.limit)
		case errors.Is(err, io.EOF):
			r.progress.Send(progress.Event{Kind: progress.Bytes, Text: "fetching", Done: int64(pack.Len()), Total: int64(pack.Len())})
			return pack.Bytes(), nil
		case err != nil:
			return nil, fmt.Errorf("receiving after %d bytes: %w", pack.Len(), err)
		}
	}
}

func demux(agreed *capability.List, r io.Reader) io.Reader {
	switch {
	case agreed.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case agreed.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

// explain puts what a server refused in words of our own: its page may come
// with the error.
func explain(err error, protocol string) error {
	switch {
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return errors.New("the repository is empty: it has no commit")
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return hint.Wrap(errors.New("the server wants other credentials, or has no such repository"),
			"check the URL; a private repository is reached by https://USER:TOKEN@HOST/PATH, or by ssh with a key in ssh-agent")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return hint.Wrap(errors.New("the server has no such repository"), "check the URL")
	case protocol == "ssh":
		return hint.Wrap(err, "add your key to ssh-agent (ssh-add) and the host to ~/.ssh/known_hosts; nothing is asked for here")
	}
	var unreachable *url.Error
	if errors.As(err, &unreachable) {
		return hint.Wrap(fmt.Errorf("no connection to the server: %w", unreachable.Err), "check the URL and the network; the bundled template go needs neither")
	}
	return err
}
