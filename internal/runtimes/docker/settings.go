package docker

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

// The annotations of a Function that say how it runs in its container.
const (
	// AnnotationCleanup is Remove by default, or Stop, or Orphan: what happens to
	// the container after the render.
	AnnotationCleanup = "render.crossplane.io/runtime-docker-cleanup"
	// AnnotationPullPolicy is IfNotPresent by default, or Always, or Never.
	AnnotationPullPolicy = "render.crossplane.io/runtime-docker-pull-policy"
	// AnnotationImage is the image to run, in place of the function's package.
	AnnotationImage = "render.crossplane.io/runtime-docker-image"
	// AnnotationName is the container's name. One that is there is used, and
	// started if it is stopped.
	AnnotationName = "render.crossplane.io/runtime-docker-name"
	// AnnotationEnv adds to the image's environment: KEY=value, separated by
	// commas.
	AnnotationEnv = "render.crossplane.io/runtime-docker-env"
	// AnnotationPublishAddress is the address of the engine's machine on which
	// the function's port is published: 127.0.0.1 by default.
	AnnotationPublishAddress = "render.crossplane.io/runtime-docker-publish-address"
	// AnnotationTarget is the host to connect to, in place of the one that the
	// port is published on.
	AnnotationTarget = "render.crossplane.io/runtime-docker-target"
	// AnnotationNetwork is a network to join. Nothing is published then, and the
	// function is called by its container's name.
	AnnotationNetwork = "render.crossplane.io/runtime-docker-network"
)

// A cleanup is what happens to a container after the render.
type cleanup string

const (
	remove cleanup = "Remove"
	stop   cleanup = "Stop"
	orphan cleanup = "Orphan"
)

// settings are what a function's annotations say.
type settings struct {
	// cleanup is remove by default; explicit tells that it was written down.
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

// settingsOf reads annotations. Those that are not there leave the default.
func settingsOf(annotations map[string]string) (settings, error) {
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
		return fmt.Errorf("unknown cleanup %q: it is one of %s, %s and %s", text, remove, stop, orphan)
	}
}

func (s *settings) readPublish(text string) (err error) {
	if s.publish, err = netip.ParseAddr(text); err != nil {
		return fmt.Errorf("%q is no IP address", text)
	}
	return nil
}

func filled(to *string) func(string) error {
	return func(text string) error {
		if *to = text; text == "" {
			return errors.New("it is empty")
		}
		return nil
	}
}
