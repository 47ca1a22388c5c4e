package schema

import "github.com/xfn-dev/xfn/internal/schema/crd"

// Define returns the kinds that an object defines: the kind of a CRD or MRD, and
// the kinds of composite resources and claims of an XRD. Other objects define no
// kind; neither do CRDs of v1beta1, which Kubernetes 1.22 removed.
func Define(obj map[string]any) ([]*Definition, error) {
	if !crd.Defines(obj) || obj["apiVersion"] == "apiextensions.k8s.io/v1beta1" {
		return nil, nil
	}
	crds := []map[string]any{obj}
	if crd.IsXRD(obj) {
		var err error
		if crds, err = crd.Generate(obj); err != nil {
			return nil, err
		}
	}
	defs := make([]*Definition, 0, len(crds))
	for _, crd := range crds {
		def, err := New(crd)
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
	}
	return defs, nil
}
