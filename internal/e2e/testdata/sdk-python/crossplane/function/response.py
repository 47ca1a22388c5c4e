"""Creates responses."""

from crossplane.function.proto.v1 import run_function_pb2 as fnv1


def to(req):
    rsp = fnv1.RunFunctionResponse(desired=req.desired, context=req.context)
    rsp.meta.tag = req.meta.tag
    rsp.meta.ttl.seconds = 60
    return rsp


def normal(rsp, message):
    rsp.results.append(fnv1.Result(severity=fnv1.SEVERITY_NORMAL, message=message))


def fatal(rsp, message):
    rsp.results.append(fnv1.Result(severity=fnv1.SEVERITY_FATAL, message=message))
