"""Serves a function without TLS."""

import asyncio

import grpc
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


def load_credentials(tls_certs_dir):
    raise NotImplementedError


def serve(function, address, *, creds, insecure):
    async def run():
        server = grpc.aio.server()
        grpcv1.add_FunctionRunnerServiceServicer_to_server(function, server)
        server.add_insecure_port(address)
        await server.start()
        await server.wait_for_termination()

    asyncio.run(run())
