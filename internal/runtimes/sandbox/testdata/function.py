"""A function that composes a bucket, and tells in it what it could do."""

import argparse
import multiprocessing
import os
import subprocess
import tempfile
from concurrent import futures

import grpc
import run_function_pb2
import run_function_pb2_grpc


def abilities():
    """Does what Python programs lean on: each is an error where it is not to be had."""
    with tempfile.TemporaryFile() as f, multiprocessing.Lock():
        f.write(os.urandom(1))
    with futures.ProcessPoolExecutor(1) as pool:
        pid = pool.submit(os.getpid).result()
    child = subprocess.run(["id", "-u"], capture_output=True, check=True, text=True)
    return {"forks": pid != os.getpid(), "user": child.stdout.strip(), "processors": os.cpu_count() > 0}


class Function(run_function_pb2_grpc.FunctionRunnerServiceServicer):
    def RunFunction(self, request, context):
        response = run_function_pb2.RunFunctionResponse(desired=request.desired)
        response.meta.tag = request.meta.tag
        region = request.observed.composite.resource["spec"]["region"]
        response.desired.resources["bucket"].resource.update({"spec": {"region": region}, "able": abilities()})
        return response


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--insecure", action="store_true", required=True)
    parser.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor())
    run_function_pb2_grpc.add_FunctionRunnerServiceServicer_to_server(Function(), server)
    server.add_insecure_port("0.0.0.0:9443")
    server.start()
    print("läuft", flush=True)
    server.wait_for_termination()
