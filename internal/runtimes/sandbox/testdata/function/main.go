// Command function is a minimal function: its response has the tag of the request. It
// never responds to the tag "hold". If the environment variable FLOOD is set, it writes
// to stderr without end.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/function/grpc"
)

func main() {
	address := flag.String("address", ":9443", "address to listen on")
	flag.Bool("insecure", false, "ignored: the function never uses TLS")
	flag.Parse()
	l, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	if os.Getenv("FLOOD") != "" {
		go flood()
	}
	answer := function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		if req.GetMeta().GetTag() == "hold" {
			select {}
		}
		return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}}, nil
	})
	log.Fatal(grpc.Serve(context.Background(), l, "function", answer, grpc.ServeOptions{}))
}

func flood() {
	line := strings.Repeat("x", 1<<16) + "\n"
	for {
		_, _ = os.Stderr.WriteString(line)
	}
}
