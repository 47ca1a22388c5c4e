package registry_test

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A rule is a requirement of the OCI distribution spec v1.1, or a choice of this registry where
// the spec allows several.
type rule struct {
	section, rule string
	steps         []step
	// distribution is the reason why Docker's registry 2.8, which implements v1.0 of the spec,
	// does not follow the rule. If it is empty, the rule is checked against Docker's registry
	// too.
	distribution string
}

// A step is a request and the expected response. In its path, {repo} is the
// repository of the test, and {location} the last Location of the upload.
type step struct {
	method, path, body string
	header             map[string]string
	status             int
	// code is a regular expression for the error code, or empty if no error is expected.
	code string
	// want has regular expressions for whole headers, and for the "body".
	want map[string]string
}

// fields are headers, or regular expressions for them.
type fields = map[string]string

func sum(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func sum512(s string) string { return fmt.Sprintf("sha512:%x", sha512.Sum512([]byte(s))) }

func is(s string) string { return regexp.QuoteMeta(s) }

// at returns a regular expression for a Location, which may be absolute.
func at(path string) string { return `(?:http://[^/]+)?` + path }

const (
	imageType  = "application/vnd.oci.image.manifest.v1+json"
	indexType  = "application/vnd.oci.image.index.v1+json"
	dockerType = "application/vnd.docker.distribution.manifest.v2+json"
	configType = "application/vnd.oci.image.config.v1+json"
	session    = `/v2/{repo}/blobs/uploads/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\?.*)?`
	newer      = "v1.0 does not define it"
	unsized    = "it does not check sizes"
	noDelete   = "deletion is disabled by default"
)

// An object is a manifest or a part of it.
type object = map[string]any

func encode(o object) string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func descriptor(mediaType, content string) object {
	return object{"mediaType": mediaType, "digest": sum(content), "size": len(content)}
}

// manifestOf returns a manifest of an image whose config is "{}", with changed fields.
func manifestOf(change object) string {
	o := object{
		"schemaVersion": 2, "mediaType": imageType, "config": descriptor(configType, "{}"),
		"layers": []object{descriptor("application/vnd.oci.image.layer.v1.tar", "layer")},
	}
	maps.Copy(o, change)
	return encode(o)
}

var (
	plain  = manifestOf(nil)
	second = manifestOf(object{"annotations": object{"n": "2"}})
	// unborn is the subject of artifact. The spec allows pushing artifact before unborn
	// exists.
	unborn   = manifestOf(object{"annotations": object{"n": "unborn"}})
	artifact = manifestOf(object{"artifactType": "test/signature", "subject": descriptor(imageType, unborn), "annotations": object{"by": "me"}})
	legacy   = manifestOf(object{"subject": descriptor(imageType, unborn), "annotations": object{"by": "old"}})
	both     = encode(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{descriptor(imageType, plain), descriptor(imageType, second)}})
)

// begin starts an upload.
var begin = step{method: "POST", path: "/v2/{repo}/blobs/uploads/", status: 202, want: fields{"Location": at(session)}}

// blob uploads a blob.
func blob(content string) []step {
	return []step{begin, {method: "PUT", path: "{location}?digest=" + sum(content), body: content, status: 201}}
}

// put pushes a manifest of a media type to a tag or digest.
func put(reference, mediaType, content string) step {
	return step{method: "PUT", path: "/v2/{repo}/manifests/" + reference, header: fields{"Content-Type": mediaType}, body: content, status: 201}
}

// parts are the steps that push the blobs of the images in these tests.
var parts = slices.Concat(blob("{}"), blob("layer"))

// with returns steps that run after the blobs of images are uploaded.
func with(steps ...step) []step { return slices.Concat(parts, steps) }

// after returns steps that run after the blob "0123456789" is uploaded.
func after(steps ...step) []step { return slices.Concat(blob(digits), steps) }

const digits = "0123456789"

// tagged returns steps that push the image plain with each of tags.
func tagged(tags ...string) []step {
	all := parts
	for _, t := range tags {
		all = append(all[:len(all):len(all)], put(t, imageType, plain))
	}
	return all
}

// refused returns steps that push a manifest, which the registry refuses with an error
// code.
func refused(reference, mediaType, content, code string) []step {
	s := put(reference, mediaType, content)
	s.status, s.code = 400, code
	return with(s)
}

// refusedIndex pushes an index, which the registry refuses with an error code.
func refusedIndex(index object, code string) step {
	s := put("v1", indexType, encode(index))
	s.status, s.code = 400, code
	return s
}

// sized returns the descriptor of a blob with another size.
func sized(content string, size int) object {
	d := descriptor("application/vnd.oci.image.layer.v1.tar", content)
	d["size"] = size
	return d
}

// chunk is a PATCH request with one chunk.
func chunk(contentRange, body string, status int, arrived string) step {
	return step{method: "PATCH", path: "{location}", header: fields{"Content-Range": contentRange}, body: body, status: status, want: fields{"Range": arrived}}
}

func get(path string, status int, code string, want fields) step {
	return step{method: "GET", path: path, status: status, code: code, want: want}
}

func head(path string, status int, want fields) step {
	return step{method: "HEAD", path: path, status: status, want: want}
}

func listed(entries ...string) string {
	if len(entries) == 0 {
		return `(?s).*"manifests":\[\].*`
	}
	return `(?s).*"manifests":\[\{.*` + strings.Join(entries, `.*`) + `.*\}\].*`
}

const absent = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

var rules = map[string]rule{
	// Rules for determining support.
	"Version":       {"Determining Support", "GET /v2/ returns 200 without authentication", []step{get("/v2/", 200, "", fields{"Docker-Distribution-API-Version": "registry/2.0"})}, ""},
	"VersionMethod": {"Determining Support", "other methods on /v2/ are refused", []step{{method: "POST", path: "/v2/", status: 405, code: "UNSUPPORTED", want: fields{"Allow": "GET, HEAD"}}}, "its response has no error body"},

	// Rules for pulling manifests.
	"ManifestByTag": {
		"Pulling manifests", "a manifest pulled by tag is unchanged, with its media type and digest",
		with(put("v1", imageType, plain), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(plain), "Content-Type": is(imageType), "Docker-Content-Digest": sum(plain), "Content-Length": fmt.Sprint(len(plain))})), "",
	},
	"ManifestByDigest": {
		"Pulling manifests", "a manifest can be pulled by its digest",
		with(put("v1", imageType, plain), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain), "Content-Type": is(imageType), "Docker-Content-Digest": sum(plain)})), "",
	},
	"ManifestBytes": {
		"Pulling manifests", "white space in a manifest is preserved",
		with(put("v1", imageType, "\n "+plain+"\n"), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is("\n " + plain + "\n")})), "",
	},
	"ManifestNoRepository":   {"Pulling manifests", "a manifest of an unknown repository is 404", []step{get("/v2/{repo}/manifests/v1", 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", nil)}, ""},
	"ManifestNoTag":          {"Pulling manifests", "an unknown tag is 404", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/manifests/v2", 404, "MANIFEST_UNKNOWN", nil)}), ""},
	"ManifestNoDigest":       {"Pulling manifests", "an unknown digest is 404", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/manifests/"+absent, 404, "MANIFEST_UNKNOWN", nil)}), ""},
	"ManifestElsewhere":      {"Pulling manifests", "a manifest exists only in the repository to which it was pushed", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/x/manifests/v1", 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", nil), get("/v2/{repo}/x/manifests/"+sum(plain), 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", nil)}), ""},
	"ManifestBadDigest":      {"Pulling manifests", "an invalid digest is a client error", []step{get("/v2/{repo}/manifests/sha256:123", 400, "DIGEST_INVALID", nil)}, "the path is unknown"},
	"ManifestUnknownHash":    {"Pulling manifests", "a digest with an unknown algorithm is a client error", []step{get("/v2/{repo}/manifests/crc32:12345678901234567890123456789012", 400, "DIGEST_INVALID", nil)}, "it returns 404"},
	"ManifestSHA512":         {"Pulling manifests", "a manifest pushed by its sha512 digest can be pulled by it", with(put(sum512(plain), imageType, plain), get("/v2/{repo}/manifests/"+sum512(plain), 200, "", fields{"body": is(plain), "Docker-Content-Digest": sum512(plain)})), "it supports only sha256"},
	"ManifestBadRepository":  {"Pulling manifests", "an invalid repository name is refused", []step{get("/v2/{repo}/UPPER/manifests/v1", 400, "NAME_INVALID", nil)}, "the path is unknown"},
	"ManifestDotsRepository": {"Pulling manifests", "a repository name is not a file path", []step{get("/v2/{repo}/%2e%2e/%2e%2e/manifests/v1", 400, "NAME_INVALID", nil)}, "the path is unknown"},
	"ManifestLongRepository": {"Pulling manifests", "a repository name has at most 255 characters", []step{get("/v2/"+strings.Repeat("a", 256)+"/manifests/v1", 400, "NAME_INVALID", nil)}, "it returns 500"},
	"ManifestHead": {
		"Checking if content exists", "HEAD returns size, media type and digest of a manifest, without a body",
		slices.Concat(tagged("v1"), []step{
			head("/v2/{repo}/manifests/v1", 200, fields{"body": "", "Content-Length": fmt.Sprint(len(plain)), "Content-Type": is(imageType), "Docker-Content-Digest": sum(plain)}),
			head("/v2/{repo}/manifests/"+sum(plain), 200, fields{"Content-Length": fmt.Sprint(len(plain)), "Docker-Content-Digest": sum(plain)}),
		}), "",
	},
	"ManifestHeadUnknown": {"Checking if content exists", "HEAD of an unknown manifest is 404", slices.Concat(tagged("v1"), []step{head("/v2/{repo}/manifests/v2", 404, nil), head("/v2/{repo}/manifests/"+absent, 404, nil), head("/v2/{repo}/x/manifests/v1", 404, nil)}), ""},

	// Rules for pulling blobs.
	"Blob":             {"Pulling blobs", "a blob can be pulled by its digest", after(get("/v2/{repo}/blobs/"+sum(digits), 200, "", fields{"body": digits, "Content-Length": "10", "Docker-Content-Digest": sum(digits), "Content-Type": "application/octet-stream"})), ""},
	"BlobElsewhere":    {"Pulling blobs", "a blob exists only in the repository to which it was pushed", after(get("/v2/{repo}/x/blobs/"+sum(digits), 404, "BLOB_UNKNOWN", nil), head("/v2/{repo}/x/blobs/"+sum(digits), 404, nil)), ""},
	"BlobHead":         {"Checking if content exists", "HEAD returns size and digest of a blob, without a body", after(head("/v2/{repo}/blobs/"+sum(digits), 200, fields{"body": "", "Content-Length": "10", "Docker-Content-Digest": sum(digits)})), ""},
	"BlobUnknown":      {"Pulling blobs", "an unknown blob is 404", []step{get("/v2/{repo}/blobs/"+absent, 404, "BLOB_UNKNOWN", nil)}, ""},
	"BlobHeadUnknown":  {"Checking if content exists", "HEAD of an unknown blob is 404", []step{head("/v2/{repo}/blobs/"+absent, 404, nil)}, ""},
	"BlobBadDigest":    {"Pulling blobs", "an invalid digest is a client error", []step{get("/v2/{repo}/blobs/sha256:123", 400, "DIGEST_INVALID", nil)}, ""},
	"BlobPathDigest":   {"Pulling blobs", "a digest is not a file path", []step{get("/v2/{repo}/blobs/sha256:%2e%2e%2f%2e%2e%2fregistry.lock", 404, "UNSUPPORTED", nil), get("/v2/{repo}/blobs/sha256:..", 400, "DIGEST_INVALID", nil)}, "the path is unknown"},
	"BlobEmpty":        {"Pulling blobs", "an empty blob can be pulled", slices.Concat(blob(""), []step{get("/v2/{repo}/blobs/"+sum(""), 200, "", fields{"body": "", "Content-Length": "0"})}), ""},
	"BlobRange":        {"Pulling blobs", "a range of a blob can be pulled", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=2-4"}, status: 206, want: fields{"body": "234", "Content-Range": "bytes 2-4/10", "Content-Length": "3"}}), ""},
	"BlobRangeOpen":    {"Pulling blobs", "the rest of a blob can be pulled to resume", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=7-"}, status: 206, want: fields{"body": "789", "Content-Range": "bytes 7-9/10"}}), ""},
	"BlobRangeSuffix":  {"Pulling blobs", "the last bytes of a blob can be pulled", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=-2"}, status: 206, want: fields{"body": "89", "Content-Range": "bytes 8-9/10"}}), ""},
	"BlobRangeLong":    {"Pulling blobs", "a range beyond the end is cut at the end", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=8-99"}, status: 206, want: fields{"body": "89", "Content-Range": "bytes 8-9/10"}}), ""},
	"BlobRangeOutside": {"Pulling blobs", "a range after the end is 416", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=10-"}, status: 416, want: fields{"Content-Range": `bytes \*/10`}}), "it closes the connection early"},
	"BlobCached":       {"Pulling blobs", "If-None-Match of a known blob returns 304", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"If-None-Match": `"` + sum(digits) + `"`}, status: 304}), ""},

	// Rules for pushing a blob without chunks.
	"PostThenPut": {"Pushing a blob monolithically", "POST, then PUT of the whole blob", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("whole"), body: "whole", status: 201, want: fields{"Location": at("/v2/{repo}/blobs/" + sum("whole")), "Docker-Content-Digest": sum("whole")}},
		get("{location}", 200, "", fields{"body": "whole"}),
	}, ""},
	"PostTwice": {"Pushing a blob monolithically", "each upload has its own location", []step{
		begin,
		{method: "PATCH", path: "{location}", body: "first", status: 202},
		begin,
		get("{location}", 204, "", fields{"Range": "0-0"}),
	}, ""},
	"SinglePost": {"Pushing a blob monolithically", "POST of the whole blob", []step{
		{method: "POST", path: "/v2/{repo}/blobs/uploads/?digest=" + sum("single"), body: "single", status: 201, want: fields{"Location": at("/v2/{repo}/blobs/" + sum("single")), "Docker-Content-Digest": sum("single")}},
		get("{location}", 200, "", fields{"body": "single"}),
	}, "it does not support this optional request"},
	"SinglePostLies":      {"Pushing a blob monolithically", "POST of a blob with another digest is refused", []step{{method: "POST", path: "/v2/{repo}/blobs/uploads/?digest=" + sum("right"), body: "wrong", status: 400, code: "DIGEST_INVALID"}, head("/v2/{repo}/blobs/"+sum("right"), 404, nil), head("/v2/{repo}/blobs/"+sum("wrong"), 404, nil)}, "it does not support this optional request"},
	"SinglePostBadDigest": {"Pushing a blob monolithically", "POST of a blob with an invalid digest is refused", []step{{method: "POST", path: "/v2/{repo}/blobs/uploads/?digest=sha256:1", body: "wrong", status: 400, code: "DIGEST_INVALID"}}, "it does not support this optional request"},
	"PutLies": {"Pushing a blob monolithically", "content with another digest is refused and not stored", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("right"), body: "wrong", status: 400, code: "DIGEST_INVALID"},
		head("/v2/{repo}/blobs/"+sum("right"), 404, nil), head("/v2/{repo}/blobs/"+sum("wrong"), 404, nil),
	}, ""},
	"PutNoDigest":  {"Pushing a blob monolithically", "PUT without a digest is refused", []step{begin, {method: "PUT", path: "{location}", body: "x", status: 400, code: "DIGEST_INVALID"}}, ""},
	"PutBadDigest": {"Pushing a blob monolithically", "PUT with an invalid digest is refused", []step{begin, {method: "PUT", path: "{location}?digest=sha256:../../x", body: "x", status: 400, code: "DIGEST_INVALID"}}, ""},
	"PutSHA512": {"Pushing a blob monolithically", "a blob can be pushed with any registered algorithm", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum512("x"), body: "x", status: 201, want: fields{"Docker-Content-Digest": sum512("x")}},
		get("/v2/{repo}/blobs/"+sum512("x"), 200, "", fields{"body": "x", "Docker-Content-Digest": sum512("x")}),
	}, "it supports only sha256"},
	"PutSHA512Lies": {"Pushing a blob monolithically", "a sha512 digest is verified", []step{begin, {method: "PUT", path: "{location}?digest=" + sum512("x"), body: "y", status: 400, code: "DIGEST_INVALID"}}, ""},
	"PutTwice": {"Pushing a blob monolithically", "an upload can be completed only once", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("once"), body: "once", status: 201, want: fields{"keep": ""}},
		{method: "PUT", path: "{location}?digest=" + sum("once"), body: "once", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
	}, ""},
	"PutAgain":          {"Pushing a blob monolithically", "an existing blob can be pushed again", slices.Concat(blob(digits), blob(digits), []step{get("/v2/{repo}/blobs/"+sum(digits), 200, "", fields{"body": digits})}), ""},
	"PostBadRepository": {"Pushing blobs", "an invalid repository name is refused", []step{{method: "POST", path: "/v2/{repo}/UPPER/blobs/uploads/", status: 400, code: "NAME_INVALID"}}, "the path is unknown"},
	"UploadElsewhere":   {"Pushing blobs", "an upload exists only in its repository", []step{begin, {method: "PATCH", path: "/v2/{repo}/x/blobs/uploads/{id}", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"}}, "its upload locations need their state"},
	"UploadMethod":      {"API", "an upload supports GET, PATCH, PUT and DELETE", []step{begin, {method: "BREW", path: "{location}", status: 405, code: "UNSUPPORTED"}}, "its response has no error body"},
	"UploadsMethod":     {"API", "uploads start with POST", []step{{method: "PATCH", path: "/v2/{repo}/blobs/uploads/", status: 405, code: "UNSUPPORTED", want: fields{"Allow": "POST"}}}, "its response has no error body"},

	// Rules for pushing a blob in chunks.
	"Chunks": {"Pushing a blob in chunks", "chunks in order, then PUT without a body", []step{
		begin,
		chunk("0-3", "0123", 202, "0-3"), chunk("4-6", "456", 202, "0-6"), chunk("7-9", "789", 202, "0-9"),
		{method: "PUT", path: "{location}?digest=" + sum(digits), status: 201, want: fields{"Location": at("/v2/{repo}/blobs/" + sum(digits))}},
		get("{location}", 200, "", fields{"body": digits}),
	}, ""},
	"ChunkLast": {"Pushing a blob in chunks", "PUT can contain the last chunk", []step{
		begin,
		chunk("0-3", "0123", 202, "0-3"),
		{method: "PUT", path: "{location}?digest=" + sum(digits), header: fields{"Content-Range": "4-9"}, body: "456789", status: 201},
		get("/v2/{repo}/blobs/"+sum(digits), 200, "", fields{"body": digits}),
	}, ""},
	"ChunkNoMinimum":  {"Pushing a blob in chunks", "a registry without a minimum chunk size returns no OCI-Chunk-Min-Length", []step{{method: "POST", path: "/v2/{repo}/blobs/uploads/", status: 202, want: fields{"OCI-Chunk-Min-Length": ""}}}, ""},
	"ChunkLocation":   {"Pushing a blob in chunks", "each response has the location of the next chunk", []step{begin, {method: "PATCH", path: "{location}", body: "x", status: 202, want: fields{"Location": at(session)}}, get("{location}", 204, "", fields{"Location": at(session)})}, ""},
	"ChunkGap":        {"Pushing a blob in chunks", "a chunk after a gap is 416", []step{begin, chunk("0-3", "0123", 202, "0-3"), {method: "PATCH", path: "{location}", header: fields{"Content-Range": "5-6"}, body: "56", status: 416}}, "it accepts chunks in any order"},
	"ChunkFirst":      {"Pushing a blob in chunks", "a first chunk that does not start at 0 is 416", []step{begin, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "1-2"}, body: "12", status: 416}}, "it accepts chunks in any order"},
	"ChunkTwice":      {"Pushing a blob in chunks", "a repeated chunk is 416", []step{begin, chunk("0-3", "0123", 202, "0-3"), {method: "PATCH", path: "{location}", header: fields{"Content-Range": "0-3"}, body: "0123", status: 416}}, "it accepts chunks in any order"},
	"ChunkGapGoesOn":  {"Pushing a blob in chunks", "a refused chunk returns the current range, and the next chunk is accepted", []step{begin, chunk("0-3", "0123", 202, "0-3"), chunk("5-6", "56", 416, "0-3"), chunk("4-9", "456789", 202, "0-9"), {method: "PUT", path: "{location}?digest=" + sum(digits), status: 201}}, "its 416 has no Range"},
	"ChunkLastGap":    {"Pushing a blob in chunks", "a last chunk after a gap is 416, and the upload stays open", []step{begin, chunk("0-3", "0123", 202, "0-3"), {method: "PUT", path: "{location}?digest=" + sum(digits), header: fields{"Content-Range": "5-9"}, body: "56789", status: 416, want: fields{"Range": "0-3"}}, get("{location}", 204, "", fields{"Range": "0-3"})}, "it ignores the range of a PUT"},
	"ChunkBadRange":   {"Pushing a blob in chunks", "an invalid range is 416", []step{begin, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "bytes 0-3/4"}, body: "0123", status: 416}, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "3-0"}, body: "0123", status: 416}, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "0-99999999999999999999"}, body: "0123", status: 416}}, "it returns 400"},
	"ChunkOtherRange": {"Pushing a blob in chunks", "a chunk must have the length of its range", []step{begin, chunk("0-9", "0123", 416, "0-0"), chunk("0-1", "0123", 416, "0-0"), chunk("0-3", "0123", 202, "0-3")}, "it returns 400"},
	"ChunkStream":     {"Pushing a blob in chunks", "a chunk without a range is appended", []step{begin, {method: "PATCH", path: "{location}", body: "0123", status: 202, want: fields{"Range": "0-3"}}, {method: "PUT", path: "{location}?digest=" + sum(digits), body: "456789", status: 201}}, ""},
	"Status":          {"Pushing a blob in chunks", "GET returns the received range", []step{begin, get("{location}", 204, "", fields{"Range": "0-0", "Location": at(session)}), chunk("0-3", "0123", 202, "0-3"), get("{location}", 204, "", fields{"Range": "0-3"})}, ""},
	"StatusUnknown":   {"Pushing a blob in chunks", "an unknown upload is 404", []step{get("/v2/{repo}/blobs/uploads/"+strings.Repeat("0", 32), 404, "BLOB_UPLOAD_UNKNOWN", nil), {method: "PATCH", path: "/v2/{repo}/blobs/uploads/x", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"}}, "its upload locations need their state"},
	"Cancel": {"Pushing blobs", "a cancelled upload is 404", []step{
		begin,
		{method: "DELETE", path: "{location}", status: 204},
		{method: "PATCH", path: "{location}", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
		get("{location}", 404, "BLOB_UPLOAD_UNKNOWN", nil),
		{method: "DELETE", path: "{location}", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
	}, ""},

	// Rules for mounting a blob.
	"Mount":          {"Mounting a blob from another repository", "a blob of another repository is mounted", after(step{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum(digits) + "&from={repo}", status: 201, want: fields{"Location": at("/v2/{repo}/x/blobs/" + sum(digits)), "Docker-Content-Digest": sum(digits)}}, get("{location}", 200, "", fields{"body": digits})), ""},
	"MountFromAny":   {"Mounting a blob from another repository", "a mount without from searches all repositories", after(step{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum(digits), status: 201, want: fields{"Location": at("/v2/{repo}/x/blobs/" + sum(digits))}}), newer},
	"MountFromOther": {"Mounting a blob from another repository", "a mount from a repository without the blob starts an upload", after(step{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum(digits) + "&from={repo}/y", status: 202}), ""},
	"MountUnknown":   {"Mounting a blob from another repository", "a mount of an unknown blob starts an upload", []step{{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum("x") + "&from={repo}", status: 202, want: fields{"Location": at(`/v2/{repo}/x/blobs/uploads/[^/]+`)}}, {method: "PUT", path: "{location}?digest=" + sum("x"), body: "x", status: 201}}, ""},
	"MountBad":       {"Mounting a blob from another repository", "a mount of an invalid digest starts an upload", []step{{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=x&from={repo}", status: 202, want: fields{"Location": at(`/v2/{repo}/x/blobs/uploads/[^/]+`)}}}, ""},
	"MountManifest":  {"Mounting a blob from another repository", "a manifest can refer to a mounted blob", slices.Concat(parts, []step{{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum("{}") + "&from={repo}", status: 201}, {method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum("layer") + "&from={repo}", status: 201}, {method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": imageType}, body: plain, status: 201}}), ""},

	// Rules for pushing manifests.
	"PutManifest": {
		"Pushing manifests", "201 has the location of the manifest and its digest",
		with(step{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: plain, status: 201, want: fields{"Location": at("/v2/{repo}/manifests/(?:v1|" + sum(plain) + ")"), "Docker-Content-Digest": sum(plain), "OCI-Subject": ""}}, get("{location}", 200, "", fields{"body": is(plain)})), "",
	},
	"PutByDigest":            {"Pushing manifests", "a manifest can be pushed by digest, without a tag", with(put(sum(plain), imageType, plain), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain)})), ""},
	"PutOtherDigest":         {"Pushing manifests", "a manifest with another digest is refused", refused(sum(second), imageType, plain, "DIGEST_INVALID"), ""},
	"PutOtherSHA512":         {"Pushing manifests", "a manifest with another sha512 digest is refused", refused(sum512(second), imageType, plain, "DIGEST_INVALID"), ""},
	"PutManifestBadDigest":   {"Pushing manifests", "a manifest with an invalid digest is refused", refused("sha256:123", imageType, plain, "DIGEST_INVALID"), "the path is unknown"},
	"PutMovesTag":            {"Pushing manifests", "a tag moves to the new manifest, and the old manifest stays", with(put("v1", imageType, plain), put("v1", imageType, second), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(second)}), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain)})), ""},
	"PutBadTag":              {"Pushing manifests", "an invalid tag is refused", refused("-v1", imageType, plain, "MANIFEST_INVALID"), "the path is unknown"},
	"PutLongTag":             {"Pushing manifests", "a tag has at most 128 characters", refused(strings.Repeat("a", 129), imageType, plain, "MANIFEST_INVALID"), "the path is unknown"},
	"PutLongestTag":          {"Pushing manifests", "a tag with 128 characters is accepted", with(put(strings.Repeat("a", 128), imageType, plain)), ""},
	"PutBadRepository":       {"Pushing manifests", "an invalid repository name is refused", []step{{method: "PUT", path: "/v2/{repo}/UPPER/manifests/v1", body: plain, status: 400, code: "NAME_INVALID"}}, "the path is unknown"},
	"PutNotJSON":             {"Pushing manifests", "a manifest must be JSON", refused("v1", imageType, "hello", "MANIFEST_INVALID"), ""},
	"PutNoObject":            {"Pushing manifests", "a manifest must be a JSON object", refused("v1", imageType, "null", "MANIFEST_INVALID"), "it returns 500"},
	"PutOtherType":           {"Pushing manifests", "Content-Type must match the manifest's media type", refused("v1", dockerType, plain, "MANIFEST_INVALID"), ""},
	"PutNoType":              {"Pushing manifests", "the manifest's media type counts if Content-Type is missing", with(step{method: "PUT", path: "/v2/{repo}/manifests/v1", body: plain, status: 201}, head("/v2/{repo}/manifests/v1", 200, fields{"Content-Type": is(imageType)})), "it reads it as schema 1"},
	"PutTypeless":            {"Pushing manifests", "a manifest without any media type is refused", with(step{method: "PUT", path: "/v2/{repo}/manifests/v1", body: "{}", status: 400, code: "MANIFEST_INVALID"}), ""},
	"PutParameters":          {"Pushing manifests", "parameters of Content-Type are ignored", with(put("v1", imageType+"; charset=utf-8", plain), head("/v2/{repo}/manifests/v1", 200, fields{"Content-Type": is(imageType)})), ""},
	"PutBlobElsewhere":       {"Pushing manifests", "the blobs of an image must be in its repository", with(step{method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": imageType}, body: plain, status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN"}), ""},
	"PutBadType":             {"Pushing manifests", "an invalid Content-Type is refused", refused("v1", "; x", plain, "MANIFEST_INVALID"), ""},
	"PutDocker":              {"Pushing manifests", "images with Docker's media types are accepted", slices.Concat(parts, []step{put("v1", dockerType, manifestOf(object{"mediaType": dockerType})), head("/v2/{repo}/manifests/v1", 200, fields{"Content-Type": is(dockerType)})}), ""},
	"PutAnyType":             {"Pushing manifests", "a manifest with an unknown media type is accepted", []step{put("v1", "application/vnd.example+json", `{"any":"thing"}`), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(`{"any":"thing"}`), "Content-Type": is("application/vnd.example+json")})}, "it accepts only known media types"},
	"PutWithoutLayer":        {"Pushing manifests", "an image with missing blobs is refused", slices.Concat(blob("{}"), []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: manifestOf(object{"layers": []object{descriptor("x/y", "none")}}), status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN", want: fields{"body": `(?s).*` + sum("none") + `.*`}}}), ""},
	"PutWithoutConfig":       {"Pushing manifests", "an image without a config is refused", slices.Concat(blob("layer"), []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: manifestOf(object{"config": descriptor(configType, "none")}), status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN"}, head("/v2/{repo}/manifests/v1", 404, nil)}), ""},
	"PutForeignLayer":        {"Pushing manifests", "an image with a nondistributable layer is accepted", slices.Concat(blob("{}"), []step{put("v1", imageType, manifestOf(object{"layers": []object{{"mediaType": "application/vnd.oci.image.layer.nondistributable.v1.tar", "digest": sum("none"), "size": 4, "urls": []string{"https://registry.example.com/layer"}}}}))}), "it accepts URLs only if it is configured to"},
	"PutNegativeSize":        {"Pushing manifests", "a descriptor with a negative size is refused", refused("v1", imageType, manifestOf(object{"layers": []object{sized("layer", -1)}}), "MANIFEST_INVALID"), unsized},
	"PutLayerSize":           {"Pushing manifests", "a layer with another size than its blob is refused", refused("v1", imageType, manifestOf(object{"layers": []object{sized("layer", 4)}}), "SIZE_INVALID"), unsized},
	"PutConfigSize":          {"Pushing manifests", "a config with another size than its blob is refused", refused("v1", imageType, manifestOf(object{"config": sized("{}", 3)}), "SIZE_INVALID"), unsized},
	"PutChildSize":           {"Pushing manifests", "an image of an index with another size than its manifest is refused", append(tagged("v1"), refusedIndex(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{{"mediaType": imageType, "digest": sum(plain), "size": 1}}}, "SIZE_INVALID")), unsized},
	"PutSchemaVersion":       {"Pushing manifests", "an image of another schema version is refused", refused("v1", imageType, manifestOf(object{"schemaVersion": 1}), "MANIFEST_INVALID"), "it accepts the version"},
	"PutIndexSchemaVersion":  {"Pushing manifests", "an index without a schema version is refused", []step{refusedIndex(object{"mediaType": indexType, "manifests": []object{}}, "MANIFEST_INVALID")}, "it accepts the version"},
	"PutBadDescriptor":       {"Pushing manifests", "a descriptor without a digest is refused", refused("v1", imageType, manifestOf(object{"config": object{"mediaType": configType, "size": 2}}), "MANIFEST_INVALID"), "it reports an unknown blob"},
	"PutIndex":               {"Pushing manifests", "an index with all its manifests is accepted", with(put(sum(plain), imageType, plain), put(sum(second), imageType, second), put("v1", indexType, both), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(both), "Content-Type": is(indexType)})), ""},
	"PutIndexWithoutChild":   {"Pushing manifests", "an index with missing manifests is refused", with(put(sum(plain), imageType, plain), step{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": indexType}, body: both, status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN|MANIFEST_UNKNOWN", want: fields{"body": `(?s).*` + sum(second) + `.*`}}), ""},
	"PutIndexChildElsewhere": {"Pushing manifests", "the manifests of an index must be in its repository", with(put(sum(plain), imageType, plain), put(sum(second), imageType, second), step{method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": indexType}, body: both, status: 400, code: "MANIFEST_BLOB_UNKNOWN|MANIFEST_UNKNOWN"}), ""},
	"PutLarge":               {"Pushing manifests", "a manifest of 4 MiB is accepted", with(put("v1", imageType, padded(4<<20))), ""},
	"PutTooLarge":            {"Pushing manifests", "a larger one is 413", []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: padded(4<<20 + 1), status: 413, code: "SIZE_INVALID"}}, "it returns 400"},
	"ManifestMethod":         {"API", "a manifest supports GET, HEAD, PUT and DELETE", []step{{method: "POST", path: "/v2/{repo}/manifests/v1", body: plain, status: 405, code: "UNSUPPORTED"}}, "its response has no error body"},

	// Rules for pushing manifests with a subject.
	"Subject":        {"Pushing manifests with subject", "OCI-Subject is returned by a registry with the referrers API", with(put("v1", imageType, unborn), step{method: "PUT", path: "/v2/{repo}/manifests/" + sum(artifact), header: fields{"Content-Type": imageType}, body: artifact, status: 201, want: fields{"OCI-Subject": sum(unborn)}}), newer},
	"SubjectMissing": {"Pushing manifests with subject", "the subject may be missing", with(put(sum(artifact), imageType, artifact)), ""},
	"SubjectIndex":   {"Pushing manifests with subject", "an index can have a subject", []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": indexType}, body: referringIndex, status: 201, want: fields{"OCI-Subject": sum(unborn)}}, get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed(`"mediaType":"`+is(indexType)+`"`, sum(referringIndex), `"artifactType":"test/list"`)})}, newer},
	"SubjectBad":     {"Pushing manifests with subject", "a subject without a digest is refused", refused("v1", imageType, manifestOf(object{"subject": object{"mediaType": imageType, "size": 2, "digest": "x"}}), "MANIFEST_INVALID"), newer},

	// Rules for listing tags.
	"Tags":          {"Listing Tags", "all tags of a repository are listed, in an order that ignores case", slices.Concat(tagged("b", "a", "B", "a1"), []step{get("/v2/{repo}/tags/list", 200, "", fields{"body": `\{"name":"{repo}","tags":\["a","a1","B","b"\]\}\s*`, "Content-Type": "application/json.*", "Link": ""})}), "its tags have no order"},
	"TagsUnknown":   {"Listing Tags", "tags of an unknown repository are 404", []step{get("/v2/{repo}/tags/list", 404, "NAME_UNKNOWN", nil)}, ""},
	"TagsNone":      {"Listing Tags", "a repository without tags has an empty list", with(put(sum(plain), imageType, plain), get("/v2/{repo}/tags/list", 200, "", fields{"body": `\{"name":"{repo}","tags":\[\]\}\s*`})), "it returns 404"},
	"TagsNoDigests": {"Listing Tags", "digests are not listed as tags", with(put(sum512(plain), imageType, plain), put("v1", imageType, plain), get("/v2/{repo}/tags/list", 200, "", fields{"body": `.*"tags":\["v1"\]\}\s*`})), "it supports only sha256"},
	"TagsFirst":     {"Listing Tags", "n limits the number of tags, with a link to more", slices.Concat(tagged("a", "b", "c"), []step{get("/v2/{repo}/tags/list?n=2", 200, "", fields{"body": `.*"tags":\["a","b"\]\}\s*`, "Link": `<(?:http://[^/]+)?/v2/{repo}/tags/list\?(?:n=2&last=b|last=b&n=2)>; rel="next"`})}), "it does not paginate tags"},
	"TagsNext":      {"Listing Tags", "the next page has the tags after last", slices.Concat(tagged("a", "b", "c", "d", "e"), []step{get("/v2/{repo}/tags/list?n=2&last=b", 200, "", fields{"body": `.*"tags":\["c","d"\]\}\s*`, "Link": `.*last=d.*`}), get("/v2/{repo}/tags/list?n=2&last=d", 200, "", fields{"body": `.*"tags":\["e"\]\}\s*`, "Link": ""})}), "it does not paginate tags"},
	"TagsExactly":   {"Listing Tags", "a page that ends with the last tag has no link", slices.Concat(tagged("a", "b"), []step{get("/v2/{repo}/tags/list?n=2", 200, "", fields{"body": `.*"tags":\["a","b"\]\}\s*`, "Link": ""})}), "its tags have no order"},
	"TagsZero":      {"Listing Tags", "n=0 returns no tags and no link", slices.Concat(tagged("a"), []step{get("/v2/{repo}/tags/list?n=0", 200, "", fields{"body": `.*"tags":\[\]\}\s*`, "Link": ""})}), "it does not paginate tags"},
	"TagsLast":      {"Listing Tags", "last can be used without n, and need not exist", slices.Concat(tagged("a", "c"), []step{get("/v2/{repo}/tags/list?last=b", 200, "", fields{"body": `.*"tags":\["c"\]\}\s*`}), get("/v2/{repo}/tags/list?last=z", 200, "", fields{"body": `.*"tags":\[\]\}\s*`})}), "it does not paginate tags"},
	"TagsBadCount":  {"Listing Tags", "an invalid n is refused", slices.Concat(tagged("a"), []step{get("/v2/{repo}/tags/list?n=-1", 400, "UNSUPPORTED", nil), get("/v2/{repo}/tags/list?n=x", 400, "UNSUPPORTED", nil), get("/v2/{repo}/tags/list?n=99999999999999999999", 400, "UNSUPPORTED", nil)}), "it does not paginate tags"},
	"TagsMethod":    {"API", "a list of tags supports only GET and HEAD", []step{{method: "PUT", path: "/v2/{repo}/tags/list", status: 405, code: "UNSUPPORTED"}}, "its response has no error body"},

	// Rules for listing referrers.
	"Referrers": {"Listing Referrers", "referrers are listed with media type, size, artifact type and annotations", with(put("v1", imageType, unborn), put(sum(artifact), imageType, artifact),
		get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"Content-Type": is(indexType), "OCI-Filters-Applied": "", "body": listed(`"mediaType":"` + is(imageType) + `","size":` + fmt.Sprint(len(artifact)) + `,"digest":"` + sum(artifact) + `","annotations":\{"by":"me"\},"artifactType":"test/signature"`)})), newer},
	"ReferrersBefore":   {"Listing Referrers", "referrers are listed before their subject exists", with(put(sum(artifact), imageType, artifact), get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed(sum(artifact))})), newer},
	"ReferrersConfig":   {"Listing Referrers", "the artifact type of an image without one is its config's media type", with(put(sum(legacy), imageType, legacy), get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed(sum(legacy), `"artifactType":"`+is(configType)+`"`)})), newer},
	"ReferrersNone":     {"Listing Referrers", "a digest without referrers has an empty list, not 404", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/referrers/"+sum(plain), 200, "", fields{"body": listed(), "Content-Type": is(indexType)}), get("/v2/{repo}/referrers/"+absent, 200, "", fields{"body": listed()}), get("/v2/{repo}/x/referrers/"+absent, 200, "", fields{"body": listed()})}), newer},
	"ReferrersFilter":   {"Listing Referrers", "artifactType filters, and OCI-Filters-Applied says so", with(put(sum(artifact), imageType, artifact), put(sum(legacy), imageType, legacy), get("/v2/{repo}/referrers/"+sum(unborn)+"?artifactType=test/signature", 200, "", fields{"OCI-Filters-Applied": "artifactType", "body": `(?s)\{[^\[]*\[\{[^\]]*` + sum(artifact) + `[^\]{]*\{[^\]{]*\]\}\s*`}), get("/v2/{repo}/referrers/"+sum(unborn)+"?artifactType=test/none", 200, "", fields{"OCI-Filters-Applied": "artifactType", "body": listed()})), newer},
	"ReferrersTagged":   {"Listing Referrers", "a manifest with tags is listed once", with(put("s1", imageType, artifact), put("s2", imageType, artifact), get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": `(?s)\{[^\[]*\[\{[^\]]*` + sum(artifact) + `[^\]{]*\{[^\]{]*\]\}\s*`})), newer},
	"ReferrersDeleted":  {"Listing Referrers", "a deleted manifest is not listed", with(put(sum(artifact), imageType, artifact), step{method: "DELETE", path: "/v2/{repo}/manifests/" + sum(artifact), status: 202}, get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed()})), newer},
	"ReferrersElse":     {"Listing Referrers", "only referrers of the same repository are listed", with(put(sum(artifact), imageType, artifact), get("/v2/{repo}/x/referrers/"+sum(unborn), 200, "", fields{"body": listed()})), newer},
	"ReferrersBad":      {"Listing Referrers", "an invalid digest is 400", []step{get("/v2/{repo}/referrers/v1", 400, "DIGEST_INVALID", nil)}, newer},
	"ReferrersMethod":   {"API", "a list of referrers supports only GET and HEAD", []step{{method: "PUT", path: "/v2/{repo}/referrers/" + absent, status: 405, code: "UNSUPPORTED"}}, newer},
	"ReferrersFallback": {"Unavailable Referrers API", "the fallback tag of older clients is an ordinary tag", with(put(sum(plain), imageType, plain), put(sum(second), imageType, second), put(strings.Replace(sum(unborn), ":", "-", 1), indexType, both), get("/v2/{repo}/manifests/"+strings.Replace(sum(unborn), ":", "-", 1), 200, "", fields{"body": is(both)})), ""},

	// Rules for deleting content.
	"DeleteTag":           {"Deleting tags", "deleting a tag keeps its manifest and other tags", slices.Concat(tagged("v1", "v2"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/v1", status: 202}, get("/v2/{repo}/manifests/v1", 404, "MANIFEST_UNKNOWN", nil), get("/v2/{repo}/tags/list", 200, "", fields{"body": `.*\["v2"\]\}\s*`}), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain)})}), noDelete},
	"DeleteTagUnknown":    {"Deleting tags", "an unknown tag is 404", slices.Concat(tagged("v1"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/v2", status: 404, code: "MANIFEST_UNKNOWN"}}), noDelete},
	"DeleteManifest":      {"Deleting Manifests", "deleting a manifest deletes its tags", slices.Concat(tagged("v1", "v2"), []step{put("v3", imageType, second), {method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 202}, get("/v2/{repo}/manifests/"+sum(plain), 404, "MANIFEST_UNKNOWN", nil), get("/v2/{repo}/manifests/v1", 404, "MANIFEST_UNKNOWN", nil), get("/v2/{repo}/tags/list", 200, "", fields{"body": `.*\["v3"\]\}\s*`})}), noDelete},
	"DeleteManifestTwice": {"Deleting Manifests", "deleting a manifest again is 404", slices.Concat(tagged("v1"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 202}, {method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 404, code: "MANIFEST_UNKNOWN"}}), noDelete},
	"DeleteNoRepository":  {"Deleting Manifests", "deleting a manifest of an unknown repository is 404", []step{{method: "DELETE", path: "/v2/{repo}/manifests/" + absent, status: 404, code: "NAME_UNKNOWN"}}, noDelete},
	"DeletePushedAgain":   {"Deleting Manifests", "a deleted manifest can be pushed again", slices.Concat(tagged("v1"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 202}, put("v1", imageType, plain), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(plain)})}), noDelete},
	"DeleteBlob":          {"Deleting Blobs", "a registry without deletion of blobs returns 405 and keeps the blob", after(step{method: "DELETE", path: "/v2/{repo}/blobs/" + sum(digits), status: 405, code: "UNSUPPORTED"}, head("/v2/{repo}/blobs/"+sum(digits), 200, nil)), ""},

	// Rules for errors, and for paths outside of the spec.
	"ErrorBody": {"Error Codes", "an error is JSON, with a code and a message", []step{get("/v2/{repo}/manifests/v1", 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", fields{"Content-Type": "application/json.*", "body": `\{"errors":\[\{"code":"[A-Z_]+","message":"[^"]+".*\}\]\}\s*`})}, ""},
	"NoPage":    {"API", "an unknown path is 404", []step{get("/v2/{repo}", 404, "UNSUPPORTED", nil), get("/v2/{repo}/tags/all", 404, "UNSUPPORTED", nil), get("/", 404, "UNSUPPORTED", nil)}, "its response has no error body"},
	"Catalog":   {"API", "_catalog lists repositories in pages, as Docker's registry does", slices.Concat(tagged("v1"), []step{{method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": "x/y"}, body: "{}", status: 201}, get("/v2/_catalog?n=1", 200, "", fields{"body": `\{"repositories":\["{repo}"\]\}\s*`, "Link": `</v2/_catalog\?.*>; rel="next"`}), get("/v2/_catalog?n=1&last={repo}", 200, "", fields{"body": `\{"repositories":\["{repo}/x"\]\}\s*`, "Link": ""})}), "it has repositories of other tests"},
}

// referringIndex is an empty index with a subject.
var referringIndex = encode(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{}, "artifactType": "test/list", "subject": descriptor(imageType, unborn)})

// padded returns a manifest of n bytes.
func padded(n int) string {
	o := manifestOf(object{"annotations": object{"pad": ""}})
	return strings.Replace(o, `"pad":""`, `"pad":"`+strings.Repeat("x", n-len(o))+`"`, 1)
}
