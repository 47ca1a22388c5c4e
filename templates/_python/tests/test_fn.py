"""Tests of the handler, for python -m unittest discover -s tests."""

import unittest

from crossplane.function import resource
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn


def request(environment: str) -> fnv1.RunFunctionRequest:
    """Return a request for an App in this environment."""
    req = fnv1.RunFunctionRequest(input=resource.dict_to_struct({"environments": {"production": {"replicas": 3}}}))
    app = {"metadata": {"name": "shop"}, "spec": {"image": "shop:1", "environment": environment}}
    req.observed.composite.resource.CopyFrom(resource.dict_to_struct(app))
    return req


class TestCompose(unittest.TestCase):
    """Each test composes one App."""

    def test_replicas(self) -> None:
        """An App has the replicas of its environment."""
        rsp = fn.compose(request("production"))
        deployment = resource.struct_to_dict(rsp.desired.resources["deployment"].resource)
        self.assertEqual(deployment["spec"]["replicas"], 3)

    def test_unknown_environment(self) -> None:
        """An unknown environment is refused."""
        rsp = fn.compose(request("dev"))
        self.assertEqual(rsp.results[0].severity, fnv1.SEVERITY_FATAL)


if __name__ == "__main__":
    unittest.main()
