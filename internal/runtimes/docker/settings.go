package docker

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

// Annotations of a Function for its container.
const (
	// AnnotationCleanup says what happens to the container after the
	// render: Remove (the default), Stop or Orphan.
	AnnotationCleanup = "render.crossplane.io/runtime-docker-cleanup"
	// AnnotationPullPolicy is IfNotPresent (the default), Always or Never.
	AnnotationPullPolicy = "render.crossplane.io/runtime-docker-pull-policy"
	// AnnotationImage is the image to run instead of the function's
	// package.
	AnnotationImage = "render.crossplane.io/runtime-docker-image"
	// AnnotationName is the container's name. An existing container with
	// this name is used, and started if it is stopped.
	AnnotationName = "render.crossplane.io/runtime-docker-name"
	// AnnotationEnv adds variables to the image's environment: KEY=value,
	// separated by commas.
	AnnotationEnv = "render.crossplane.io/runtime-docker-env"
	// AnnotationPublishAddress is the address of the engine's machine where
	// the function's port is published: 127.0.0.1 by default.
	AnnotationPublishAddress = "render.crossplane.io/runtime-docker-publish-address"
	// AnnotationTarget is the host to connect to, instead of the published
	// address.
	AnnotationTarget = "render.crossplane.io/runtime-docker-target"
	// AnnotationNetwork is a network to join. The function is then called
	// by its container's name, and no port is published.
	AnnotationNetwork = "render.crossplane.io/runtime-docker-network"
)

// A cleanup says what happens to a container after the render.
type cleanup string

const (
	remove cleanup = "Remove"
	stop   cleanup = "Stop"
	orphan cleanup = "Orphan"
)

// settings are the values of a function's annotations.
type settings struct {
	// cleanup is remove by default; explicit is set if an annotation sets
	// it.
	cleanup  cleanup
	explicit bool
	policy   image.Policy
	image    string
	name     string
	env      []string
	publish  netip.Addr
	target   string
	network  string
}

// parseSettings parses annotations. A missing annotation leaves the default.
func parseSettings(annotations map[string]string) (settings, error) {
	s := settings{cleanup: remove, policy: image.IfNotPresent, publish: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	for _, setting := range []struct {
		annotation string
		read       func(string) error
	}{
		{AnnotationCleanup, s.readCleanup},
		{AnnotationPullPolicy, func(text string) (err error) { s.policy, err = image.ParsePolicy(text); return err }},
		{AnnotationImage, filled(&s.image)},
		{AnnotationName, filled(&s.name)},
		{AnnotationEnv, func(text string) (err error) { s.env, err = local.ParseEnv(text); return err }},
		{AnnotationPublishAddress, s.readPublish},
		{AnnotationTarget, filled(&s.target)},
		{AnnotationNetwork, filled(&s.network)},
	} {
		text, ok := annotations[setting.annotation]
		if !ok {
			continue
		}
		if err := setting.read(text); err != nil {
			return s, fmt.Errorf("annotation %s: %w", setting.annotation, err)
		}
	}
	return s, nil
}

func (s *settings) readCleanup(text string) error {
	switch s.cleanup = cleanup(text); s.cleanup {
	case remove, stop, orphan:
		s.explicit = true
		return nil
	default:
		return fmt.Errorf("unknown cleanup %q: expected %s, %s or %s", text, remove, stop, orphan)
	}
}

func (s *settings) readPublish(text string) (err error) {
	if s.publish, err = netip.ParseAddr(text); err != nil {
		return fmt.Errorf("expected an IP address, got %q", text)
	}
	return nil
}

func filled(to *string) func(string) error {
	return func(text string) error {
		if *to = text; text == "" {
			return errors.New("must not be empty")
		}
		return nil
	}
}
