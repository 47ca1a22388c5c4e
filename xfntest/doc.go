// Package xfntest tests composition functions that are written in Go. It renders a
// Composition in the process of the test: the functions under test are called
// directly, without gRPC, containers or a cluster.
//
//	func TestApp(t *testing.T) {
//		got := xfntest.Render(t, xfntest.Case{
//			XR:          "example/xr.yaml",
//			Composition: "example/composition.yaml",
//			Functions:   map[string]fnv1.FunctionRunnerServiceServer{"function-app": &Function{}},
//		})
//		if got.Composed["deployment"] == nil {
//			t.Error("the App has no Deployment")
//		}
//		got.Golden(t, "testdata/app.yaml")
//	}
//
// Golden files are written by running the test with the flag -update. This package
// registers it, so a test package that imports it must not define the flag again.
//
// A pipeline may have other functions than those under test. The functions
// function-auto-ready, function-go-templating and function-patch-and-transform of
// crossplane-contrib are part of this package: a step whose functionRef has one of
// these names calls it.
package xfntest
