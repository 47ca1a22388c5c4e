"""A function that composes a bucket, and writes its own version into it."""

import importlib.metadata
from concurrent import futures

import click
import grpc
import run_function_pb2
import run_function_pb2_grpc


class Function(run_function_pb2_grpc.FunctionRunnerServiceServicer):
    def RunFunction(self, request, context):
        response = run_function_pb2.RunFunctionResponse(desired=request.desired)
        response.meta.tag = request.meta.tag
        region = request.observed.composite.resource["spec"]["region"]
        response.desired.resources["bucket"].resource.update(
            {
                "apiVersion": "example.org/v1",
                "kind": "Bucket",
                "spec": {"region": region, "version": importlib.metadata.version("function")},
            }
        )
        return response


@click.command()
@click.option("--insecure", is_flag=True)
def cli(insecure):
    server = grpc.server(futures.ThreadPoolExecutor())
    run_function_pb2_grpc.add_FunctionRunnerServiceServicer_to_server(Function(), server)
    server.add_insecure_port("0.0.0.0:9443")
    server.start()
    server.wait_for_termination()
