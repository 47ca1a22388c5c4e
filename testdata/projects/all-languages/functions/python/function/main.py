"""A function that composes a ConfigMap with the size of an app."""

import click
import grpc
from crossplane.function import resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Apps(grpcv1.FunctionRunnerService):
    async def RunFunction(self, req: fnv1.RunFunctionRequest, _: grpc.aio.ServicerContext) -> fnv1.RunFunctionResponse:
        rsp = response.to(req)
        xr = resource.struct_to_dict(req.observed.composite.resource)
        config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": xr["spec"]["size"]}}
        resource.update(rsp.desired.resources["python"], config)
        return rsp


@click.command()
@click.option("--address", default="0.0.0.0:9443")
@click.option("--tls-certs-dir", envvar="TLS_SERVER_CERTS_DIR")
@click.option("--insecure", is_flag=True)
def cli(address, tls_certs_dir, insecure):
    creds = None if insecure else runtime.load_credentials(tls_certs_dir)
    runtime.serve(Apps(), address, creds=creds, insecure=insecure)
