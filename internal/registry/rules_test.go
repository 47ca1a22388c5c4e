package registry_test

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A rule is one of the OCI distribution spec v1.1, or of how this registry uses
// the freedom that the spec leaves.
type rule struct {
	section, rule string
	steps         []step
	// distribution is why Docker's registry 2.8, which knows v1.0, is not held to
	// it. Without a reason, it is: who tests the tests?
	distribution string
}

// A step is one request, and what has to come back. In its path, {repo} is the
// repository of the test, and {location} is where the registry said last that an
// upload goes on.
type step struct {
	method, path, body string
	header             map[string]string
	status             int
	// code is that of the error, if there is to be one: a regular expression.
	code string
	// want has a regular expression for the whole of a header, or of the "body".
	want map[string]string
}

// fields are headers, or what is wanted of them.
type fields = map[string]string

func sum(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func sum512(s string) string { return fmt.Sprintf("sha512:%x", sha512.Sum512([]byte(s))) }

func is(s string) string { return regexp.QuoteMeta(s) }

// at is a Location, which may be absolute.
func at(path string) string { return `(?:http://[^/]+)?` + path }

const (
	imageType  = "application/vnd.oci.image.manifest.v1+json"
	indexType  = "application/vnd.oci.image.index.v1+json"
	dockerType = "application/vnd.docker.distribution.manifest.v2+json"
	configType = "application/vnd.oci.image.config.v1+json"
	session    = `/v2/{repo}/blobs/uploads/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\?.*)?`
	newer      = "v1.0 does not have it"
	noDelete   = "deleting is off there, as it is by default"
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

// made is a manifest of an image whose config is "{}", with whatever is changed
// about it.
func made(change object) string {
	o := object{
		"schemaVersion": 2, "mediaType": imageType, "config": descriptor(configType, "{}"),
		"layers": []object{descriptor("application/vnd.oci.image.layer.v1.tar", "layer")},
	}
	for k, v := range change {
		o[k] = v
	}
	return encode(o)
}

var (
	plain  = made(nil)
	second = made(object{"annotations": object{"n": "2"}})
	// unborn is the subject of artifact, which may be pushed before it.
	unborn   = made(object{"annotations": object{"n": "unborn"}})
	artifact = made(object{"artifactType": "test/signature", "subject": descriptor(imageType, unborn), "annotations": object{"by": "me"}})
	legacy   = made(object{"subject": descriptor(imageType, unborn), "annotations": object{"by": "old"}})
	both     = encode(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{descriptor(imageType, plain), descriptor(imageType, second)}})
)

// begin starts an upload.
var begin = step{method: "POST", path: "/v2/{repo}/blobs/uploads/", status: 202, want: fields{"Location": at(session)}}

// blob uploads one.
func blob(content string) []step {
	return []step{begin, {method: "PUT", path: "{location}?digest=" + sum(content), body: content, status: 201}}
}

// put pushes a manifest of some type to a tag or digest.
func put(reference, mediaType, content string) step {
	return step{method: "PUT", path: "/v2/{repo}/manifests/" + reference, header: fields{"Content-Type": mediaType}, body: content, status: 201}
}

// parts are the blobs that images here are made of.
var parts = slices.Concat(blob("{}"), blob("layer"))

// with are steps after images' parts are there.
func with(steps ...step) []step { return slices.Concat(parts, steps) }

// after are steps after the blob "0123456789" is there.
func after(steps ...step) []step { return slices.Concat(blob(digits), steps) }

const digits = "0123456789"

// tagged is a repository of the image plain with these tags.
func tagged(tags ...string) []step {
	all := parts
	for _, t := range tags {
		all = append(all[:len(all):len(all)], put(t, imageType, plain))
	}
	return all
}

// refused is a manifest that is not taken.
func refused(reference, mediaType, content, code string) []step {
	s := put(reference, mediaType, content)
	s.status, s.code = 400, code
	return with(s)
}

// chunk is a PATCH of one.
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
	// Determining support.
	"Version":       {"Determining Support", "GET /v2/ is 200 where no login is asked for", []step{get("/v2/", 200, "", fields{"Docker-Distribution-API-Version": "registry/2.0"})}, ""},
	"VersionMethod": {"Determining Support", "nothing else can be done there", []step{{method: "POST", path: "/v2/", status: 405, code: "UNSUPPORTED", want: fields{"Allow": "GET, HEAD"}}}, "it answers without the body of an error"},

	// Pull: manifests.
	"ManifestByTag": {
		"Pulling manifests", "a manifest comes back by its tag, to the byte, with its type and digest",
		with(put("v1", imageType, plain), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(plain), "Content-Type": is(imageType), "Docker-Content-Digest": sum(plain), "Content-Length": fmt.Sprint(len(plain))})), "",
	},
	"ManifestByDigest": {
		"Pulling manifests", "and by its digest",
		with(put("v1", imageType, plain), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain), "Content-Type": is(imageType), "Docker-Content-Digest": sum(plain)})), "",
	},
	"ManifestBytes": {
		"Pulling manifests", "white space is part of a manifest",
		with(put("v1", imageType, "\n "+plain+"\n"), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is("\n " + plain + "\n")})), "",
	},
	"ManifestNoRepository":   {"Pulling manifests", "one of an unknown repository is 404", []step{get("/v2/{repo}/manifests/v1", 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", nil)}, ""},
	"ManifestNoTag":          {"Pulling manifests", "an unknown tag is 404", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/manifests/v2", 404, "MANIFEST_UNKNOWN", nil)}), ""},
	"ManifestNoDigest":       {"Pulling manifests", "an unknown digest is 404", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/manifests/"+absent, 404, "MANIFEST_UNKNOWN", nil)}), ""},
	"ManifestElsewhere":      {"Pulling manifests", "a manifest is in the repository that it was pushed to, and in no other", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/x/manifests/v1", 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", nil), get("/v2/{repo}/x/manifests/"+sum(plain), 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", nil)}), ""},
	"ManifestBadDigest":      {"Pulling manifests", "a digest that is none is an error of the client", []step{get("/v2/{repo}/manifests/sha256:123", 400, "DIGEST_INVALID", nil)}, "there is no such page"},
	"ManifestUnknownHash":    {"Pulling manifests", "so is one by a hash that nobody knows", []step{get("/v2/{repo}/manifests/crc32:12345678901234567890123456789012", 400, "DIGEST_INVALID", nil)}, "it is unknown there"},
	"ManifestSHA512":         {"Pulling manifests", "a manifest pushed by its sha512 digest comes back by it", with(put(sum512(plain), imageType, plain), get("/v2/{repo}/manifests/"+sum512(plain), 200, "", fields{"body": is(plain), "Docker-Content-Digest": sum512(plain)})), "its digests are sha256"},
	"ManifestBadRepository":  {"Pulling manifests", "a repository's name follows the grammar", []step{get("/v2/{repo}/UPPER/manifests/v1", 400, "NAME_INVALID", nil)}, "there is no such page"},
	"ManifestDotsRepository": {"Pulling manifests", "a name is no path", []step{get("/v2/{repo}/%2e%2e/%2e%2e/manifests/v1", 400, "NAME_INVALID", nil)}, "there is no such page"},
	"ManifestLongRepository": {"Pulling manifests", "a name has at most 255 characters", []step{get("/v2/"+strings.Repeat("a", 256)+"/manifests/v1", 400, "NAME_INVALID", nil)}, "it answers 500"},
	"ManifestHead": {
		"Checking if content exists", "HEAD gives a manifest's size, type and digest, and no body",
		slices.Concat(tagged("v1"), []step{
			head("/v2/{repo}/manifests/v1", 200, fields{"body": "", "Content-Length": fmt.Sprint(len(plain)), "Content-Type": is(imageType), "Docker-Content-Digest": sum(plain)}),
			head("/v2/{repo}/manifests/"+sum(plain), 200, fields{"Content-Length": fmt.Sprint(len(plain)), "Docker-Content-Digest": sum(plain)}),
		}), "",
	},
	"ManifestHeadUnknown": {"Checking if content exists", "HEAD of an unknown manifest is 404", slices.Concat(tagged("v1"), []step{head("/v2/{repo}/manifests/v2", 404, nil), head("/v2/{repo}/manifests/"+absent, 404, nil), head("/v2/{repo}/x/manifests/v1", 404, nil)}), ""},

	// Pull: blobs.
	"Blob":             {"Pulling blobs", "a blob comes back by its digest", after(get("/v2/{repo}/blobs/"+sum(digits), 200, "", fields{"body": digits, "Content-Length": "10", "Docker-Content-Digest": sum(digits), "Content-Type": "application/octet-stream"})), ""},
	"BlobElsewhere":    {"Pulling blobs", "a blob is in the repository that it was pushed to, and in no other", after(get("/v2/{repo}/x/blobs/"+sum(digits), 404, "BLOB_UNKNOWN", nil), head("/v2/{repo}/x/blobs/"+sum(digits), 404, nil)), ""},
	"BlobHead":         {"Checking if content exists", "HEAD gives a blob's size and digest, and no body", after(head("/v2/{repo}/blobs/"+sum(digits), 200, fields{"body": "", "Content-Length": "10", "Docker-Content-Digest": sum(digits)})), ""},
	"BlobUnknown":      {"Pulling blobs", "an unknown blob is 404", []step{get("/v2/{repo}/blobs/"+absent, 404, "BLOB_UNKNOWN", nil)}, ""},
	"BlobHeadUnknown":  {"Checking if content exists", "HEAD of an unknown blob is 404", []step{head("/v2/{repo}/blobs/"+absent, 404, nil)}, ""},
	"BlobBadDigest":    {"Pulling blobs", "a digest that is none is an error of the client", []step{get("/v2/{repo}/blobs/sha256:123", 400, "DIGEST_INVALID", nil)}, ""},
	"BlobPathDigest":   {"Pulling blobs", "a digest is no path", []step{get("/v2/{repo}/blobs/sha256:%2e%2e%2f%2e%2e%2fregistry.lock", 404, "UNSUPPORTED", nil), get("/v2/{repo}/blobs/sha256:..", 400, "DIGEST_INVALID", nil)}, "there is no such page"},
	"BlobEmpty":        {"Pulling blobs", "a blob may be empty", slices.Concat(blob(""), []step{get("/v2/{repo}/blobs/"+sum(""), 200, "", fields{"body": "", "Content-Length": "0"})}), ""},
	"BlobRange":        {"Pulling blobs", "a range of a blob", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=2-4"}, status: 206, want: fields{"body": "234", "Content-Range": "bytes 2-4/10", "Content-Length": "3"}}), ""},
	"BlobRangeOpen":    {"Pulling blobs", "the rest of a blob, for who resumes", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=7-"}, status: 206, want: fields{"body": "789", "Content-Range": "bytes 7-9/10"}}), ""},
	"BlobRangeSuffix":  {"Pulling blobs", "the end of a blob", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=-2"}, status: 206, want: fields{"body": "89", "Content-Range": "bytes 8-9/10"}}), ""},
	"BlobRangeLong":    {"Pulling blobs", "a range that goes on after the end is cut there", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=8-99"}, status: 206, want: fields{"body": "89", "Content-Range": "bytes 8-9/10"}}), ""},
	"BlobRangeOutside": {"Pulling blobs", "a range after the end is 416", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"Range": "bytes=10-"}, status: 416, want: fields{"Content-Range": `bytes \*/10`}}), "it breaks its answer off"},
	"BlobCached":       {"Pulling blobs", "who has the blob need not get it again", after(step{method: "GET", path: "/v2/{repo}/blobs/" + sum(digits), header: fields{"If-None-Match": `"` + sum(digits) + `"`}, status: 304}), ""},

	// Push: a blob at once.
	"PostThenPut": {"Pushing a blob monolithically", "POST, then PUT of the whole", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("whole"), body: "whole", status: 201, want: fields{"Location": at("/v2/{repo}/blobs/" + sum("whole")), "Docker-Content-Digest": sum("whole")}},
		get("{location}", 200, "", fields{"body": "whole"}),
	}, ""},
	"PostTwice": {"Pushing a blob monolithically", "each upload has a place of its own", []step{
		begin,
		{method: "PATCH", path: "{location}", body: "first", status: 202},
		begin,
		get("{location}", 204, "", fields{"Range": "0-0"}),
	}, ""},
	"SinglePost": {"Pushing a blob monolithically", "POST of the whole", []step{
		{method: "POST", path: "/v2/{repo}/blobs/uploads/?digest=" + sum("single"), body: "single", status: 201, want: fields{"Location": at("/v2/{repo}/blobs/" + sum("single")), "Docker-Content-Digest": sum("single")}},
		get("{location}", 200, "", fields{"body": "single"}),
	}, "it does not take this, and need not"},
	"SinglePostLies":      {"Pushing a blob monolithically", "and is refused with another digest", []step{{method: "POST", path: "/v2/{repo}/blobs/uploads/?digest=" + sum("right"), body: "wrong", status: 400, code: "DIGEST_INVALID"}, head("/v2/{repo}/blobs/"+sum("right"), 404, nil), head("/v2/{repo}/blobs/"+sum("wrong"), 404, nil)}, "it does not take this, and need not"},
	"SinglePostBadDigest": {"Pushing a blob monolithically", "or with one that is none", []step{{method: "POST", path: "/v2/{repo}/blobs/uploads/?digest=sha256:1", body: "wrong", status: 400, code: "DIGEST_INVALID"}}, "it does not take this, and need not"},
	"PutLies": {"Pushing a blob monolithically", "content of another digest is refused, and kept under none", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("right"), body: "wrong", status: 400, code: "DIGEST_INVALID"},
		head("/v2/{repo}/blobs/"+sum("right"), 404, nil), head("/v2/{repo}/blobs/"+sum("wrong"), 404, nil),
	}, ""},
	"PutNoDigest":  {"Pushing a blob monolithically", "an upload ends with a digest", []step{begin, {method: "PUT", path: "{location}", body: "x", status: 400, code: "DIGEST_INVALID"}}, ""},
	"PutBadDigest": {"Pushing a blob monolithically", "which is one", []step{begin, {method: "PUT", path: "{location}?digest=sha256:../../x", body: "x", status: 400, code: "DIGEST_INVALID"}}, ""},
	"PutSHA512": {"Pushing a blob monolithically", "of any registered algorithm", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum512("x"), body: "x", status: 201, want: fields{"Docker-Content-Digest": sum512("x")}},
		get("/v2/{repo}/blobs/"+sum512("x"), 200, "", fields{"body": "x", "Docker-Content-Digest": sum512("x")}),
	}, "its digests are sha256"},
	"PutSHA512Lies": {"Pushing a blob monolithically", "and is as true as the others", []step{begin, {method: "PUT", path: "{location}?digest=" + sum512("x"), body: "y", status: 400, code: "DIGEST_INVALID"}}, ""},
	"PutTwice": {"Pushing a blob monolithically", "an upload ends once", []step{
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("once"), body: "once", status: 201, want: fields{"keep": ""}},
		{method: "PUT", path: "{location}?digest=" + sum("once"), body: "once", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
	}, ""},
	"PutAgain":          {"Pushing a blob monolithically", "a blob that is there can be pushed again", slices.Concat(blob(digits), blob(digits), []step{get("/v2/{repo}/blobs/"+sum(digits), 200, "", fields{"body": digits})}), ""},
	"PostBadRepository": {"Pushing blobs", "a repository's name follows the grammar", []step{{method: "POST", path: "/v2/{repo}/UPPER/blobs/uploads/", status: 400, code: "NAME_INVALID"}}, "there is no such page"},
	"UploadElsewhere":   {"Pushing blobs", "an upload is of the repository that it was begun in", []step{begin, {method: "PATCH", path: "/v2/{repo}/x/blobs/uploads/{id}", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"}}, "its uploads have a state, too"},
	"UploadMethod":      {"API", "an upload knows GET, PATCH, PUT and DELETE", []step{begin, {method: "BREW", path: "{location}", status: 405, code: "UNSUPPORTED"}}, "it answers without the body of an error"},
	"UploadsMethod":     {"API", "uploads are begun by POST", []step{{method: "PATCH", path: "/v2/{repo}/blobs/uploads/", status: 405, code: "UNSUPPORTED", want: fields{"Allow": "POST"}}}, "it answers without the body of an error"},

	// Push: a blob in chunks.
	"Chunks": {"Pushing a blob in chunks", "chunks in their order, and an end without one", []step{
		begin,
		chunk("0-3", "0123", 202, "0-3"), chunk("4-6", "456", 202, "0-6"), chunk("7-9", "789", 202, "0-9"),
		{method: "PUT", path: "{location}?digest=" + sum(digits), status: 201, want: fields{"Location": at("/v2/{repo}/blobs/" + sum(digits))}},
		get("{location}", 200, "", fields{"body": digits}),
	}, ""},
	"ChunkLast": {"Pushing a blob in chunks", "the last chunk may come with the end", []step{
		begin,
		chunk("0-3", "0123", 202, "0-3"),
		{method: "PUT", path: "{location}?digest=" + sum(digits), header: fields{"Content-Range": "4-9"}, body: "456789", status: 201},
		get("/v2/{repo}/blobs/"+sum(digits), 200, "", fields{"body": digits}),
	}, ""},
	"ChunkNoMinimum":  {"Pushing a blob in chunks", "a registry without a least size of chunks names none", []step{{method: "POST", path: "/v2/{repo}/blobs/uploads/", status: 202, want: fields{"OCI-Chunk-Min-Length": ""}}}, ""},
	"ChunkLocation":   {"Pushing a blob in chunks", "each answer says where to go on", []step{begin, {method: "PATCH", path: "{location}", body: "x", status: 202, want: fields{"Location": at(session)}}, get("{location}", 204, "", fields{"Location": at(session)})}, ""},
	"ChunkGap":        {"Pushing a blob in chunks", "a chunk after a gap is 416", []step{begin, chunk("0-3", "0123", 202, "0-3"), {method: "PATCH", path: "{location}", header: fields{"Content-Range": "5-6"}, body: "56", status: 416}}, "it takes chunks in any order"},
	"ChunkFirst":      {"Pushing a blob in chunks", "so is a first one that is not the first", []step{begin, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "1-2"}, body: "12", status: 416}}, "it takes chunks in any order"},
	"ChunkTwice":      {"Pushing a blob in chunks", "and one that has been sent", []step{begin, chunk("0-3", "0123", 202, "0-3"), {method: "PATCH", path: "{location}", header: fields{"Content-Range": "0-3"}, body: "0123", status: 416}}, "it takes chunks in any order"},
	"ChunkGapGoesOn":  {"Pushing a blob in chunks", "a refused chunk says where to go on, and the next one is taken", []step{begin, chunk("0-3", "0123", 202, "0-3"), chunk("5-6", "56", 416, "0-3"), chunk("4-9", "456789", 202, "0-9"), {method: "PUT", path: "{location}?digest=" + sum(digits), status: 201}}, "its 416 has no Range"},
	"ChunkLastGap":    {"Pushing a blob in chunks", "a last chunk after a gap is 416, and does not end the upload", []step{begin, chunk("0-3", "0123", 202, "0-3"), {method: "PUT", path: "{location}?digest=" + sum(digits), header: fields{"Content-Range": "5-9"}, body: "56789", status: 416, want: fields{"Range": "0-3"}}, get("{location}", 204, "", fields{"Range": "0-3"})}, "it looks at no range of a PUT"},
	"ChunkBadRange":   {"Pushing a blob in chunks", "a range that is none is 416", []step{begin, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "bytes 0-3/4"}, body: "0123", status: 416}, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "3-0"}, body: "0123", status: 416}, {method: "PATCH", path: "{location}", header: fields{"Content-Range": "0-99999999999999999999"}, body: "0123", status: 416}}, "it answers 400"},
	"ChunkOtherRange": {"Pushing a blob in chunks", "a chunk has the length that its range says", []step{begin, chunk("0-9", "0123", 416, "0-0"), chunk("0-1", "0123", 416, "0-0"), chunk("0-3", "0123", 202, "0-3")}, "it answers 400"},
	"ChunkStream":     {"Pushing a blob in chunks", "a chunk without a range is the next one", []step{begin, {method: "PATCH", path: "{location}", body: "0123", status: 202, want: fields{"Range": "0-3"}}, {method: "PUT", path: "{location}?digest=" + sum(digits), body: "456789", status: 201}}, ""},
	"Status":          {"Pushing a blob in chunks", "GET says how much has arrived", []step{begin, get("{location}", 204, "", fields{"Range": "0-0", "Location": at(session)}), chunk("0-3", "0123", 202, "0-3"), get("{location}", 204, "", fields{"Range": "0-3"})}, ""},
	"StatusUnknown":   {"Pushing a blob in chunks", "an upload that nobody began is 404", []step{get("/v2/{repo}/blobs/uploads/"+strings.Repeat("0", 32), 404, "BLOB_UPLOAD_UNKNOWN", nil), {method: "PATCH", path: "/v2/{repo}/blobs/uploads/x", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"}}, "its uploads have a state, too"},
	"Cancel": {"Pushing blobs", "an upload that is cancelled is gone", []step{
		begin,
		{method: "DELETE", path: "{location}", status: 204},
		{method: "PATCH", path: "{location}", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
		get("{location}", 404, "BLOB_UPLOAD_UNKNOWN", nil),
		{method: "DELETE", path: "{location}", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
	}, ""},

	// Push: mounts.
	"Mount":          {"Mounting a blob from another repository", "a blob of another repository is mounted", after(step{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum(digits) + "&from={repo}", status: 201, want: fields{"Location": at("/v2/{repo}/x/blobs/" + sum(digits)), "Docker-Content-Digest": sum(digits)}}, get("{location}", 200, "", fields{"body": digits})), ""},
	"MountFromAny":   {"Mounting a blob from another repository", "it may be found without a name", after(step{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum(digits), status: 201, want: fields{"Location": at("/v2/{repo}/x/blobs/" + sum(digits))}}), newer},
	"MountFromOther": {"Mounting a blob from another repository", "a blob is mounted from where it is", after(step{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum(digits) + "&from={repo}/y", status: 202}), ""},
	"MountUnknown":   {"Mounting a blob from another repository", "a blob that is not there is uploaded", []step{{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum("x") + "&from={repo}", status: 202, want: fields{"Location": at(`/v2/{repo}/x/blobs/uploads/[^/]+`)}}, {method: "PUT", path: "{location}?digest=" + sum("x"), body: "x", status: 201}}, ""},
	"MountBad":       {"Mounting a blob from another repository", "so is one of a digest that is none", []step{{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=x&from={repo}", status: 202, want: fields{"Location": at(`/v2/{repo}/x/blobs/uploads/[^/]+`)}}}, ""},
	"MountManifest":  {"Mounting a blob from another repository", "a mounted blob is one for manifests", slices.Concat(parts, []step{{method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum("{}") + "&from={repo}", status: 201}, {method: "POST", path: "/v2/{repo}/x/blobs/uploads/?mount=" + sum("layer") + "&from={repo}", status: 201}, {method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": imageType}, body: plain, status: 201}}), ""},

	// Push: manifests.
	"PutManifest": {
		"Pushing manifests", "201 says where the manifest is, and its digest",
		with(step{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: plain, status: 201, want: fields{"Location": at("/v2/{repo}/manifests/(?:v1|" + sum(plain) + ")"), "Docker-Content-Digest": sum(plain), "OCI-Subject": ""}}, get("{location}", 200, "", fields{"body": is(plain)})), "",
	},
	"PutByDigest":            {"Pushing manifests", "a manifest may have a digest and no tag", with(put(sum(plain), imageType, plain), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain)})), ""},
	"PutOtherDigest":         {"Pushing manifests", "one of another digest is refused", refused(sum(second), imageType, plain, "DIGEST_INVALID"), ""},
	"PutOtherSHA512":         {"Pushing manifests", "by any hash", refused(sum512(second), imageType, plain, "DIGEST_INVALID"), ""},
	"PutManifestBadDigest":   {"Pushing manifests", "and so is a digest that is none", refused("sha256:123", imageType, plain, "DIGEST_INVALID"), "there is no such page"},
	"PutMovesTag":            {"Pushing manifests", "a tag moves to what is pushed to it, and what it left stays", with(put("v1", imageType, plain), put("v1", imageType, second), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(second)}), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain)})), ""},
	"PutBadTag":              {"Pushing manifests", "a tag follows the grammar", refused("-v1", imageType, plain, "MANIFEST_INVALID"), "there is no such page"},
	"PutLongTag":             {"Pushing manifests", "a tag has at most 128 characters", refused(strings.Repeat("a", 129), imageType, plain, "MANIFEST_INVALID"), "there is no such page"},
	"PutLongestTag":          {"Pushing manifests", "and may have as many", with(put(strings.Repeat("a", 128), imageType, plain)), ""},
	"PutBadRepository":       {"Pushing manifests", "so does a repository's name", []step{{method: "PUT", path: "/v2/{repo}/UPPER/manifests/v1", body: plain, status: 400, code: "NAME_INVALID"}}, "there is no such page"},
	"PutNotJSON":             {"Pushing manifests", "what is no JSON is no manifest", refused("v1", imageType, "hello", "MANIFEST_INVALID"), ""},
	"PutNoObject":            {"Pushing manifests", "neither is JSON that is no object", refused("v1", imageType, "null", "MANIFEST_INVALID"), "it answers 500"},
	"PutOtherType":           {"Pushing manifests", "a manifest is sent as what it says it is", refused("v1", dockerType, plain, "MANIFEST_INVALID"), ""},
	"PutNoType":              {"Pushing manifests", "its own type counts where it is sent without one", with(step{method: "PUT", path: "/v2/{repo}/manifests/v1", body: plain, status: 201}, head("/v2/{repo}/manifests/v1", 200, fields{"Content-Type": is(imageType)})), "it takes such for schema 1"},
	"PutTypeless":            {"Pushing manifests", "one without any type is none", with(step{method: "PUT", path: "/v2/{repo}/manifests/v1", body: "{}", status: 400, code: "MANIFEST_INVALID"}), ""},
	"PutParameters":          {"Pushing manifests", "parameters of a type are ignored", with(put("v1", imageType+"; charset=utf-8", plain), head("/v2/{repo}/manifests/v1", 200, fields{"Content-Type": is(imageType)})), ""},
	"PutBlobElsewhere":       {"Pushing manifests", "an image's blobs are in its repository", with(step{method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": imageType}, body: plain, status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN"}), ""},
	"PutBadType":             {"Pushing manifests", "nor is one of a type that cannot be read", refused("v1", "; x", plain, "MANIFEST_INVALID"), ""},
	"PutDocker":              {"Pushing manifests", "Docker's images have their type", slices.Concat(parts, []step{put("v1", dockerType, made(object{"mediaType": dockerType})), head("/v2/{repo}/manifests/v1", 200, fields{"Content-Type": is(dockerType)})}), ""},
	"PutAnyType":             {"Pushing manifests", "a manifest may be of a type that the registry does not know", []step{put("v1", "application/vnd.example+json", `{"any":"thing"}`), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(`{"any":"thing"}`), "Content-Type": is("application/vnd.example+json")})}, "it knows all that it takes"},
	"PutWithoutLayer":        {"Pushing manifests", "an image whose blobs are not there is refused", slices.Concat(blob("{}"), []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: made(object{"layers": []object{descriptor("x/y", "none")}}), status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN", want: fields{"body": `(?s).*` + sum("none") + `.*`}}}), ""},
	"PutWithoutConfig":       {"Pushing manifests", "and so is one without its config", slices.Concat(blob("layer"), []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: made(object{"config": descriptor(configType, "none")}), status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN"}, head("/v2/{repo}/manifests/v1", 404, nil)}), ""},
	"PutForeignLayer":        {"Pushing manifests", "but not one whose layer is not to be distributed", slices.Concat(blob("{}"), []step{put("v1", imageType, made(object{"layers": []object{{"mediaType": "application/vnd.oci.image.layer.nondistributable.v1.tar", "digest": sum("none"), "size": 4, "urls": []string{"https://registry.example.com/layer"}}}}))}), "it takes URLs only if it is told to"},
	"PutBadDescriptor":       {"Pushing manifests", "a descriptor has a digest", refused("v1", imageType, made(object{"config": object{"mediaType": configType, "size": 2}}), "MANIFEST_INVALID"), "it finds no blob for it"},
	"PutIndex":               {"Pushing manifests", "an index whose manifests are there", with(put(sum(plain), imageType, plain), put(sum(second), imageType, second), put("v1", indexType, both), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(both), "Content-Type": is(indexType)})), ""},
	"PutIndexWithoutChild":   {"Pushing manifests", "an index whose manifests are not there is refused", with(put(sum(plain), imageType, plain), step{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": indexType}, body: both, status: 400, code: "MANIFEST_BLOB_UNKNOWN|BLOB_UNKNOWN|MANIFEST_UNKNOWN", want: fields{"body": `(?s).*` + sum(second) + `.*`}}), ""},
	"PutIndexChildElsewhere": {"Pushing manifests", "wherever else they may be", with(put(sum(plain), imageType, plain), put(sum(second), imageType, second), step{method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": indexType}, body: both, status: 400, code: "MANIFEST_BLOB_UNKNOWN|MANIFEST_UNKNOWN"}), ""},
	"PutLarge":               {"Pushing manifests", "a manifest may have 4 MiB", with(put("v1", imageType, padded(4<<20))), ""},
	"PutTooLarge":            {"Pushing manifests", "a larger one is 413", []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": imageType}, body: padded(4<<20 + 1), status: 413, code: "SIZE_INVALID"}}, "it answers 400"},
	"ManifestMethod":         {"API", "a manifest knows GET, HEAD, PUT and DELETE", []step{{method: "POST", path: "/v2/{repo}/manifests/v1", body: plain, status: 405, code: "UNSUPPORTED"}}, "it answers without the body of an error"},

	// Push: manifests with a subject.
	"Subject":        {"Pushing manifests with subject", "OCI-Subject says that the registry lists referrers", with(put("v1", imageType, unborn), step{method: "PUT", path: "/v2/{repo}/manifests/" + sum(artifact), header: fields{"Content-Type": imageType}, body: artifact, status: 201, want: fields{"OCI-Subject": sum(unborn)}}), newer},
	"SubjectMissing": {"Pushing manifests with subject", "a subject need not be there", with(put(sum(artifact), imageType, artifact)), ""},
	"SubjectIndex":   {"Pushing manifests with subject", "an index may have a subject, too", []step{{method: "PUT", path: "/v2/{repo}/manifests/v1", header: fields{"Content-Type": indexType}, body: referringIndex, status: 201, want: fields{"OCI-Subject": sum(unborn)}}, get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed(`"mediaType":"`+is(indexType)+`"`, sum(referringIndex), `"artifactType":"test/list"`)})}, newer},
	"SubjectBad":     {"Pushing manifests with subject", "a subject has a digest", refused("v1", imageType, made(object{"subject": object{"mediaType": imageType, "size": 2, "digest": "x"}}), "MANIFEST_INVALID"), newer},

	// Content discovery: tags.
	"Tags":          {"Listing Tags", "all tags of a repository, in an order in which case does not count", slices.Concat(tagged("b", "a", "B", "a1"), []step{get("/v2/{repo}/tags/list", 200, "", fields{"body": `\{"name":"{repo}","tags":\["a","a1","B","b"\]\}\s*`, "Content-Type": "application/json.*", "Link": ""})}), "its tags have no order"},
	"TagsUnknown":   {"Listing Tags", "those of an unknown repository are 404", []step{get("/v2/{repo}/tags/list", 404, "NAME_UNKNOWN", nil)}, ""},
	"TagsNone":      {"Listing Tags", "a repository may have none: that is a list", with(put(sum(plain), imageType, plain), get("/v2/{repo}/tags/list", 200, "", fields{"body": `\{"name":"{repo}","tags":\[\]\}\s*`})), "it takes such for unknown"},
	"TagsNoDigests": {"Listing Tags", "digests are no tags", with(put(sum512(plain), imageType, plain), put("v1", imageType, plain), get("/v2/{repo}/tags/list", 200, "", fields{"body": `.*"tags":\["v1"\]\}\s*`})), "its digests are sha256"},
	"TagsFirst":     {"Listing Tags", "n tags, and a link to more", slices.Concat(tagged("a", "b", "c"), []step{get("/v2/{repo}/tags/list?n=2", 200, "", fields{"body": `.*"tags":\["a","b"\]\}\s*`, "Link": `<(?:http://[^/]+)?/v2/{repo}/tags/list\?(?:n=2&last=b|last=b&n=2)>; rel="next"`})}), "it has no pages of tags"},
	"TagsNext":      {"Listing Tags", "the next ones are those after the last", slices.Concat(tagged("a", "b", "c", "d", "e"), []step{get("/v2/{repo}/tags/list?n=2&last=b", 200, "", fields{"body": `.*"tags":\["c","d"\]\}\s*`, "Link": `.*last=d.*`}), get("/v2/{repo}/tags/list?n=2&last=d", 200, "", fields{"body": `.*"tags":\["e"\]\}\s*`, "Link": ""})}), "it has no pages of tags"},
	"TagsExactly":   {"Listing Tags", "a page that ends with the last tag has no link", slices.Concat(tagged("a", "b"), []step{get("/v2/{repo}/tags/list?n=2", 200, "", fields{"body": `.*"tags":\["a","b"\]\}\s*`, "Link": ""})}), "its tags have no order"},
	"TagsZero":      {"Listing Tags", "n=0 is no tags and no link", slices.Concat(tagged("a"), []step{get("/v2/{repo}/tags/list?n=0", 200, "", fields{"body": `.*"tags":\[\]\}\s*`, "Link": ""})}), "it has no pages of tags"},
	"TagsLast":      {"Listing Tags", "last may be used alone, and need not be a tag", slices.Concat(tagged("a", "c"), []step{get("/v2/{repo}/tags/list?last=b", 200, "", fields{"body": `.*"tags":\["c"\]\}\s*`}), get("/v2/{repo}/tags/list?last=z", 200, "", fields{"body": `.*"tags":\[\]\}\s*`})}), "it has no pages of tags"},
	"TagsBadCount":  {"Listing Tags", "n is a count", slices.Concat(tagged("a"), []step{get("/v2/{repo}/tags/list?n=-1", 400, "UNSUPPORTED", nil), get("/v2/{repo}/tags/list?n=x", 400, "UNSUPPORTED", nil), get("/v2/{repo}/tags/list?n=99999999999999999999", 400, "UNSUPPORTED", nil)}), "it has no pages of tags"},
	"TagsMethod":    {"API", "a list cannot be written", []step{{method: "PUT", path: "/v2/{repo}/tags/list", status: 405, code: "UNSUPPORTED"}}, "it answers without the body of an error"},

	// Content discovery: referrers.
	"Referrers": {"Listing Referrers", "who refers to a digest, with type, size, artifact type and annotations", with(put("v1", imageType, unborn), put(sum(artifact), imageType, artifact),
		get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"Content-Type": is(indexType), "OCI-Filters-Applied": "", "body": listed(`"mediaType":"` + is(imageType) + `","size":` + fmt.Sprint(len(artifact)) + `,"digest":"` + sum(artifact) + `","annotations":\{"by":"me"\},"artifactType":"test/signature"`)})), newer},
	"ReferrersBefore":   {"Listing Referrers", "even before it is there itself", with(put(sum(artifact), imageType, artifact), get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed(sum(artifact))})), newer},
	"ReferrersConfig":   {"Listing Referrers", "the artifact type of an image without one is its config's type", with(put(sum(legacy), imageType, legacy), get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed(sum(legacy), `"artifactType":"`+is(configType)+`"`)})), newer},
	"ReferrersNone":     {"Listing Referrers", "nobody is an empty list, and never 404", slices.Concat(tagged("v1"), []step{get("/v2/{repo}/referrers/"+sum(plain), 200, "", fields{"body": listed(), "Content-Type": is(indexType)}), get("/v2/{repo}/referrers/"+absent, 200, "", fields{"body": listed()}), get("/v2/{repo}/x/referrers/"+absent, 200, "", fields{"body": listed()})}), newer},
	"ReferrersFilter":   {"Listing Referrers", "artifactType filters, and OCI-Filters-Applied says so", with(put(sum(artifact), imageType, artifact), put(sum(legacy), imageType, legacy), get("/v2/{repo}/referrers/"+sum(unborn)+"?artifactType=test/signature", 200, "", fields{"OCI-Filters-Applied": "artifactType", "body": `(?s)\{[^\[]*\[\{[^\]]*` + sum(artifact) + `[^\]{]*\{[^\]{]*\]\}\s*`}), get("/v2/{repo}/referrers/"+sum(unborn)+"?artifactType=test/none", 200, "", fields{"OCI-Filters-Applied": "artifactType", "body": listed()})), newer},
	"ReferrersTagged":   {"Listing Referrers", "a manifest with tags is listed once", with(put("s1", imageType, artifact), put("s2", imageType, artifact), get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": `(?s)\{[^\[]*\[\{[^\]]*` + sum(artifact) + `[^\]{]*\{[^\]{]*\]\}\s*`})), newer},
	"ReferrersDeleted":  {"Listing Referrers", "one that is deleted is not listed", with(put(sum(artifact), imageType, artifact), step{method: "DELETE", path: "/v2/{repo}/manifests/" + sum(artifact), status: 202}, get("/v2/{repo}/referrers/"+sum(unborn), 200, "", fields{"body": listed()})), newer},
	"ReferrersElse":     {"Listing Referrers", "referrers are those of one repository", with(put(sum(artifact), imageType, artifact), get("/v2/{repo}/x/referrers/"+sum(unborn), 200, "", fields{"body": listed()})), newer},
	"ReferrersBad":      {"Listing Referrers", "a digest that is none is 400", []step{get("/v2/{repo}/referrers/v1", 400, "DIGEST_INVALID", nil)}, newer},
	"ReferrersMethod":   {"API", "a list cannot be written", []step{{method: "PUT", path: "/v2/{repo}/referrers/" + absent, status: 405, code: "UNSUPPORTED"}}, newer},
	"ReferrersFallback": {"Unavailable Referrers API", "the tag that older clients list referrers by is one like any other", with(put(sum(plain), imageType, plain), put(sum(second), imageType, second), put(strings.Replace(sum(unborn), ":", "-", 1), indexType, both), get("/v2/{repo}/manifests/"+strings.Replace(sum(unborn), ":", "-", 1), 200, "", fields{"body": is(both)})), ""},

	// Content management.
	"DeleteTag":           {"Deleting tags", "a tag goes, its manifest and other tags stay", slices.Concat(tagged("v1", "v2"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/v1", status: 202}, get("/v2/{repo}/manifests/v1", 404, "MANIFEST_UNKNOWN", nil), get("/v2/{repo}/tags/list", 200, "", fields{"body": `.*\["v2"\]\}\s*`}), get("/v2/{repo}/manifests/"+sum(plain), 200, "", fields{"body": is(plain)})}), noDelete},
	"DeleteTagUnknown":    {"Deleting tags", "an unknown tag is 404", slices.Concat(tagged("v1"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/v2", status: 404, code: "MANIFEST_UNKNOWN"}}), noDelete},
	"DeleteManifest":      {"Deleting Manifests", "a manifest goes with its tags", slices.Concat(tagged("v1", "v2"), []step{put("v3", imageType, second), {method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 202}, get("/v2/{repo}/manifests/"+sum(plain), 404, "MANIFEST_UNKNOWN", nil), get("/v2/{repo}/manifests/v1", 404, "MANIFEST_UNKNOWN", nil), get("/v2/{repo}/tags/list", 200, "", fields{"body": `.*\["v3"\]\}\s*`})}), noDelete},
	"DeleteManifestTwice": {"Deleting Manifests", "one that is gone is 404", slices.Concat(tagged("v1"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 202}, {method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 404, code: "MANIFEST_UNKNOWN"}}), noDelete},
	"DeleteNoRepository":  {"Deleting Manifests", "so is one of an unknown repository", []step{{method: "DELETE", path: "/v2/{repo}/manifests/" + absent, status: 404, code: "NAME_UNKNOWN"}}, noDelete},
	"DeletePushedAgain":   {"Deleting Manifests", "what was deleted can be pushed again", slices.Concat(tagged("v1"), []step{{method: "DELETE", path: "/v2/{repo}/manifests/" + sum(plain), status: 202}, put("v1", imageType, plain), get("/v2/{repo}/manifests/v1", 200, "", fields{"body": is(plain)})}), noDelete},
	"DeleteBlob":          {"Deleting Blobs", "a registry that does not do it says 405, and keeps the blob", after(step{method: "DELETE", path: "/v2/{repo}/blobs/" + sum(digits), status: 405, code: "UNSUPPORTED"}, head("/v2/{repo}/blobs/"+sum(digits), 200, nil)), ""},

	// Errors.
	"ErrorBody": {"Error Codes", "an error is JSON, with a code and a message", []step{get("/v2/{repo}/manifests/v1", 404, "NAME_UNKNOWN|MANIFEST_UNKNOWN", fields{"Content-Type": "application/json.*", "body": `\{"errors":\[\{"code":"[A-Z_]+","message":"[^"]+".*\}\]\}\s*`})}, ""},
	"NoPage":    {"API", "what the API does not have is 404", []step{get("/v2/{repo}", 404, "UNSUPPORTED", nil), get("/v2/{repo}/tags/all", 404, "UNSUPPORTED", nil), get("/", 404, "UNSUPPORTED", nil)}, "it answers without the body of an error"},
	"Catalog":   {"API", "_catalog lists repositories by pages, as Docker's registry does", slices.Concat(tagged("v1"), []step{{method: "PUT", path: "/v2/{repo}/x/manifests/v1", header: fields{"Content-Type": "x/y"}, body: "{}", status: 201}, get("/v2/_catalog?n=1", 200, "", fields{"body": `\{"repositories":\["{repo}"\]\}\s*`, "Link": `</v2/_catalog\?.*>; rel="next"`}), get("/v2/_catalog?n=1&last={repo}", 200, "", fields{"body": `\{"repositories":\["{repo}/x"\]\}\s*`, "Link": ""})}), "it has repositories of other tests"},
}

// referringIndex is an index of nothing with a subject.
var referringIndex = encode(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{}, "artifactType": "test/list", "subject": descriptor(imageType, unborn)})

// padded is a manifest of n bytes.
func padded(n int) string {
	o := made(object{"annotations": object{"pad": ""}})
	return strings.Replace(o, `"pad":""`, `"pad":"`+strings.Repeat("x", n-len(o))+`"`, 1)
}
