// The command function is a function as small as one can be: it answers with
// the tag of what it is asked.
package main

import (
	"context"
	"flag"
	"log"
	"net"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
)

func main() {
	address := flag.String("address", ":9443", "where to listen")
	flag.Bool("insecure", false, "it always is")
	flag.Parse()
	l, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	answer := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}}, nil
	})
	log.Fatal(grpc.Serve(context.Background(), l, "function", answer, grpc.ServeOptions{}))
}
