package docker

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// The annotations of a Function that configure its container.
const (
	// AnnotationCleanup says what happens to the container after the
	// render: Remove (the default), Stop or Orphan.
	AnnotationCleanup = "render.crossplane.io/runtime-docker-cleanup"
	// AnnotationPullPolicy is IfNotPresent (the default), Always or Never.
	AnnotationPullPolicy = "render.crossplane.io/runtime-docker-pull-policy"
	// AnnotationImage is the image to run instead of the function's package.
	AnnotationImage = "render.crossplane.io/runtime-docker-image"
	// AnnotationName is the container's name. An existing container with
	// this name is used, and started if it is stopped.
	AnnotationName = "render.crossplane.io/runtime-docker-name"
	// AnnotationEnv adds variables to the image's environment: KEY=value,
	// separated by commas.
	AnnotationEnv = "render.crossplane.io/runtime-docker-env"
	// AnnotationPublishAddress is the IP address, on the engine's machine, where the
	// function's port is published. The default is 127.0.0.1.
	AnnotationPublishAddress = "render.crossplane.io/runtime-docker-publish-address"
	// AnnotationTarget is the host to connect to, instead of the address where the port
	// is published.
	AnnotationTarget = "render.crossplane.io/runtime-docker-target"
	// AnnotationNetwork is a Docker network that the container joins. The function is
	// then called by its container's name, and no port is published.
	AnnotationNetwork = "render.crossplane.io/runtime-docker-network"
)

// Annotations returns the annotations of a Function that configure its container.
func (*Docker) Annotations() []string {
	return []string{
		AnnotationCleanup, AnnotationPullPolicy, AnnotationImage, AnnotationName,
		AnnotationEnv, AnnotationPublishAddress, AnnotationTarget, AnnotationNetwork,
	}
}

// A cleanup says what happens to a container after the render.
type cleanup string

const (
	remove cleanup = "Remove"
	stop   cleanup = "Stop"
	orphan cleanup = "Orphan"
)

type settings struct {
	// cleanup is empty if no annotation sets it.
	cleanup cleanup
	policy  image.Policy
	image   string
	name    string
	env     []string
	publish netip.Addr
	target  string
	network string
}

// parseSettings parses the annotations of a Function. A setting without an annotation
// gets its default.
func parseSettings(annotations map[string]string) (settings, error) {
	s := settings{policy: image.IfNotPresent, publish: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	err := runtimes.ParseAnnotations(annotations, []runtimes.Setting{
		{Annotation: AnnotationCleanup, Parse: runtimes.ParseInto(&s.cleanup, parseCleanup)},
		{Annotation: AnnotationPullPolicy, Parse: runtimes.ParseInto(&s.policy, image.ParsePolicy)},
		{Annotation: AnnotationImage, Parse: runtimes.ParseInto(&s.image, notEmpty)},
		{Annotation: AnnotationName, Parse: runtimes.ParseInto(&s.name, notEmpty)},
		{Annotation: AnnotationEnv, Parse: runtimes.ParseInto(&s.env, runtimes.ParseEnv)},
		{Annotation: AnnotationPublishAddress, Parse: runtimes.ParseInto(&s.publish, parseAddress)},
		{Annotation: AnnotationTarget, Parse: runtimes.ParseInto(&s.target, notEmpty)},
		{Annotation: AnnotationNetwork, Parse: runtimes.ParseInto(&s.network, notEmpty)},
	})
	return s, err
}

func parseCleanup(text string) (cleanup, error) {
	switch c := cleanup(text); c {
	case remove, stop, orphan:
		return c, nil
	default:
		return "", fmt.Errorf("unknown cleanup %q: expected %s, %s or %s", text, remove, stop, orphan)
	}
}

func parseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return address, fmt.Errorf("expected an IP address, got %q", text)
	}
	return address, nil
}

func notEmpty(text string) (string, error) {
	if text == "" {
		return "", errors.New("must not be empty")
	}
	return text, nil
}
