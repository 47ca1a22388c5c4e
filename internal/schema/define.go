package schema

import "github.com/xfn-dev/xfn/internal/schema/crd"

// Define returns the kinds that an object defines: of a CRD or MRD, or the XRs
// and claims of an XRD. Other objects, and CRDs of v1beta1, define none.
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
