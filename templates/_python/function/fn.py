"""The handler of each request of Crossplane."""

import grpc
from crossplane.function import logging, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class FunctionRunner(grpcv1.FunctionRunnerService):
    """A FunctionRunner composes the resources of an App."""

    def __init__(self) -> None:
        self.log = logging.get_logger()

    async def RunFunction(  # noqa: N802
        self, req: fnv1.RunFunctionRequest, _: grpc.aio.ServicerContext
    ) -> fnv1.RunFunctionResponse:
        """Return the desired state. The same request always gives the same response."""
        self.log.debug("composing", tag=req.meta.tag)
        return compose(req)


def compose(req: fnv1.RunFunctionRequest) -> fnv1.RunFunctionResponse:
    """Add the resources of the App to the desired state of earlier functions."""
    rsp = response.to(req)
    app = resource.struct_to_dict(req.observed.composite.resource)
    environments = resource.struct_to_dict(req.input).get("environments", {})
    name = app["spec"].get("environment", "")
    if name not in environments:
        known = ", ".join(sorted(environments))
        response.fatal(rsp, f'spec.environment must be one of {known}, got "{name}"')
        return rsp
    for key, desired in resources(app, environments[name]).items():
        resource.update(rsp.desired.resources[key], desired)
        ready = key in req.observed.resources
        if ready and key == "deployment":
            ready = resource.get_condition(req.observed.resources[key].resource, "Available").status == "True"
        rsp.desired.resources[key].ready = fnv1.READY_TRUE if ready else fnv1.READY_FALSE
    resource.update(rsp.desired.composite, {"status": {"url": f"http://{app['metadata']['name']}"}})
    response.normal(rsp, f'Composed {len(rsp.desired.resources)} resources for environment "{name}"')
    return rsp


def resources(app: dict, environment: dict) -> dict[str, dict]:
    """Return the composed resources of an App by name."""
    name, spec = app["metadata"]["name"], app["spec"]
    labels = {"app.kubernetes.io/name": name}
    port = int(spec.get("port", 8080))
    container = {"name": "app", "image": spec["image"], "ports": [{"containerPort": port}]}
    return {
        "deployment": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "replicas": int(spec.get("replicas", environment["replicas"])),
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        },
        "service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "labels": labels},
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": port}]},
        },
    }
