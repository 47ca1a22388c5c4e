// Command compose is a function that composes a ConfigMap. It reads the composite resource
// by the models that xfn generates to schemas/go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"

	"dev.crossplane.io/models/org/example/platform/v1alpha1"
	"github.com/crossplane/function-sdk-go"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/structpb"
)

type composer struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (composer) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := response.To(req, response.DefaultTTL)
	var app v1alpha1.App
	data, err := req.GetObserved().GetComposite().GetResource().MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &app)
	}
	if err != nil {
		response.Fatal(rsp, err)
		return rsp, nil
	}
	if app.Spec == nil || app.Spec.Size == nil {
		response.Fatal(rsp, errors.New("the App has no spec.size"))
		return rsp, nil
	}
	config, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"size": string(*app.Spec.Size)},
	})
	if err != nil {
		return nil, err
	}
	rsp.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{"config": {Resource: config}}}
	return rsp, nil
}

func main() {
	network := flag.String("network", "tcp", "Network to listen on.")
	address := flag.String("address", ":9443", "Address to listen on.")
	certificates := flag.String("tls-certs-dir", "", "Directory with tls.crt, tls.key and ca.crt.")
	insecure := flag.Bool("insecure", false, "Serve without mTLS.")
	flag.Bool("debug", false, "Log debug messages.")
	flag.Parse()
	if err := function.Serve(composer{}, function.Listen(*network, *address), function.MTLSCertificates(*certificates), function.Insecure(*insecure)); err != nil {
		log.Fatal(err)
	}
}
