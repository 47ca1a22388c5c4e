package clone

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
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

type remote struct {
	location
	limit    int64
	progress progress.Func
	// start and stop are called when the server must send data and has sent all of it.
	start, stop func()
}

// read finds ref in the references of the server, and fetches its commit.
func (r *remote) read(ctx context.Context, ref string) (Snapshot, error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer conn.close()
	hash, name, found := lookup(conn.refs, ref)
	switch {
	case found:
		return r.tip(ctx, conn, hash, name)
	case fullHash().MatchString(ref):
		return r.byHash(ctx, conn, plumbing.NewHash(ref))
	case shortHash().MatchString(ref):
		return r.fromHistory(ctx, conn, ref)
	}
	return Snapshot{}, missing(conn.refs, ref)
}

func (r *remote) tip(ctx context.Context, conn *connection, hash plumbing.Hash, name string) (Snapshot, error) {
	objects, err := r.fetch(ctx, conn, 1, hash)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot(objects, hash, name)
}

// byHash fetches a commit by its hash. If that fails, it fetches the whole
// history and searches it.
func (r *remote) byHash(ctx context.Context, conn *connection, hash plumbing.Hash) (Snapshot, error) {
	if s, err := r.tip(ctx, conn, hash, "HEAD"); err == nil {
		return s, nil
	}
	again, err := r.dial(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer again.close()
	return r.fromHistory(ctx, again, hash.String())
}

// fromHistory fetches the history of all branches and tags, and searches it for
// the commit whose hash begins with hash.
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

// A connection is a session with a server, and the references that the server has.
type connection struct {
	transport.UploadPackSession
	refs         memory.ReferenceStorage
	capabilities *capability.List
}

func (r *remote) dial(ctx context.Context) (*connection, error) {
	// The session changes its endpoint if the server redirects, so pass a copy.
	endpoint := *r.endpoint
	r.start()
	session, err := r.client().NewUploadPackSession(&endpoint, r.auth)
	if err != nil {
		return nil, explain(err, endpoint.Protocol)
	}
	conn := &connection{UploadPackSession: session}
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		conn.close()
		if known := explainKnown(err, endpoint.Protocol); known != nil {
			return nil, known
		}
		return nil, hint.Wrap(fmt.Errorf("the server does not answer like a git server with the smart protocol: %w", err),
			"check that the URL is the URL of a git repository")
	}
	if conn.refs, err = references(adv); err != nil {
		conn.close()
		return nil, fmt.Errorf("reading the server's references: %w", err)
	}
	conn.capabilities = adv.Capabilities
	r.start()
	return conn, nil
}

// close ends the session. Its error does not matter, because nothing was written.
func (c *connection) close() { _ = c.Close() }

func (r *remote) client() transport.Transport {
	switch r.endpoint.Protocol {
	case "ssh":
		return gitssh.DefaultClient
	case "git":
		return gittcp.DefaultClient
	}
	return githttp.NewClient(&http.Client{Transport: capped{limit: 2 * r.limit}})
}

// capped is the default HTTP transport, but limits responses to limit bytes. go-git would
// read lists of references and errors to their end, whatever their size.
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

// references returns the references of the server, with HEAD. If HEAD is not the tip of a
// branch, go-git leaves HEAD out, and may return an error.
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

// fetch fetches the commits wants with their objects, and depth commits of their
// history. It fetches the whole history if depth is 0 or the server does not support depth.
func (r *remote) fetch(ctx context.Context, conn *connection, depth int, wants ...plumbing.Hash) (*memory.Storage, error) {
	req := packp.NewUploadPackRequestFromCapabilities(conn.capabilities)
	req.Wants = wants
	if depth > 0 && conn.capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(depth)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	resp, err := conn.UploadPack(ctx, req)
	if err != nil {
		return nil, explain(err, r.endpoint.Protocol)
	}
	defer func() { _ = resp.Close() }()
	pack, err := r.receive(demux(req.Capabilities, &body{resp, r.start}))
	r.stop()
	if err != nil {
		return nil, err
	}
	if err := checkPack(pack, r.limit); err != nil {
		return nil, err
	}
	objects := memory.NewStorage()
	if err := packfile.UpdateObjectStorage(objects, bytes.NewReader(pack)); err != nil {
		return nil, fmt.Errorf("unpacking the answer of the server: %w", err)
	}
	return objects, nil
}

// A body is the response of a server. It calls read after each Read.
type body struct {
	io.Reader
	read func()
}

func (b *body) Read(p []byte) (int, error) {
	defer b.read()
	return b.Reader.Read(p)
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
			return nil, fmt.Errorf("receiving the repository failed after %d bytes: %w", pack.Len(), err)
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

// CheckNetwork is the hint for a server that cannot be reached.
const CheckNetwork hint.Hint = "check the URL and the network"

// explain replaces error texts of a server, which may be a whole web page.
func explain(err error, protocol string) error { return cmp.Or(explainKnown(err, protocol), err) }

// explainKnown returns the error for users, or nil if err is of no known kind.
func explainKnown(err error, protocol string) error {
	switch {
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return errEmpty
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return hint.Wrap(errors.New("the server refuses the credentials, or has no such repository"),
			"check the URL; for a private repository write USER:TOKEN@ before the host in an https URL, or use ssh with a key in ssh-agent")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return hint.Wrap(errors.New("the server has no such repository"), "check the URL")
	case protocol == "ssh":
		return hint.Wrap(err, "add your key to ssh-agent (ssh-add) and the host to ~/.ssh/known_hosts")
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return hint.Wrap(fmt.Errorf("the certificate of the server cannot be trusted: %w", untrusted.Err), "add its CA to the system's CAs, or name the file of the CA with SSL_CERT_FILE")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return hint.Wrap(fmt.Errorf("connecting to the proxy: %w", op.Err), "correct the proxy (HTTPS_PROXY, HTTP_PROXY), or name hosts without a proxy in NO_PROXY")
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		return hint.Wrap(fmt.Errorf("connecting to the server: %w", unreachable.Err), CheckNetwork)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return hint.Wrap(fmt.Errorf("connecting to the server: %w", op), CheckNetwork)
	}
	if unexpected, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		if status, ok := errors.AsType[*githttp.Err](unexpected.Err); ok {
			return fmt.Errorf("the server answers with status %d %s", status.StatusCode(), http.StatusText(status.StatusCode()))
		}
	}
	return nil
}

// maxObjects limits the objects of a pack. Each object needs memory in addition to its
// content.
const maxObjects = 1 << 20

// checkPack returns an error for a pack that unpacks to more than limit bytes, before
// it is unpacked. A few kilobytes can unpack to gigabytes.
func checkPack(pack []byte, limit int64) error {
	scanner := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("reading the response of the server: %w", err)
	}
	if count > maxObjects {
		return fmt.Errorf("the repository has %d objects, more than the %d that are allowed", count, maxObjects)
	}
	left := limit
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("reading the response of the server: %w", err)
		}
		if left -= header.Length; header.Length < 0 || left < 0 {
			return tooLarge(limit)
		}
		var start head
		if _, _, err := scanner.NextObject(&start); err != nil {
			return fmt.Errorf("reading the response of the server: %w", err)
		}
		if !header.Type.IsDelta() {
			continue
		}
		size := start.deltaSize()
		if size > uint64(left) {
			return tooLarge(limit)
		}
		left -= int64(size)
	}
	return nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the repository is larger than the %d bytes that are allowed", limit)
}

// A head keeps the first bytes of a delta: the sizes of its base and of its result, two
// varints (git's pack format).
type head []byte

func (h *head) Write(p []byte) (int, error) {
	room := max(0, 2*binary.MaxVarintLen64-len(*h))
	*h = append(*h, p[:min(room, len(p))]...)
	return len(p), nil
}

// deltaSize returns the size of the delta's result, or 0 for an invalid delta.
func (h head) deltaSize() uint64 {
	_, n := binary.Uvarint(h)
	if n <= 0 {
		return 0
	}
	size, _ := binary.Uvarint(h[n:])
	return size
}
