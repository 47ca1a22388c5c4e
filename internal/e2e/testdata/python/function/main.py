"""A function that composes a bucket. It writes its own version into it, and what it may do."""

import importlib.metadata
import multiprocessing
import os
import subprocess
import sys
import tempfile
from concurrent import futures

import click
import grpc
import run_function_pb2
import run_function_pb2_grpc


def abilities():
    """Uses what Python programs need of their system. A missing ability is an error."""
    with tempfile.TemporaryFile() as f, multiprocessing.Lock():
        f.write(os.urandom(1))
    with futures.ProcessPoolExecutor(1) as pool:
        pid = pool.submit(os.getpid).result()
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getuid())"], capture_output=True, check=True, text=True)
    return f"forks: {pid != os.getpid()}, user: {child.stdout.strip()}, processors: {os.cpu_count() > 0}"


class Function(run_function_pb2_grpc.FunctionRunnerServiceServicer):
    def RunFunction(self, request, context):
        response = run_function_pb2.RunFunctionResponse(desired=request.desired)
        response.meta.tag = request.meta.tag
        region = request.observed.composite.resource["spec"]["region"]
        response.desired.resources["bucket"].resource.update(
            {
                "apiVersion": "example.org/v1",
                "kind": "Bucket",
                "spec": {"region": region, "version": importlib.metadata.version("function"), "able": abilities()},
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
