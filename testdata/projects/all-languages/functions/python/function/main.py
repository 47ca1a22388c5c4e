"""A function that composes a topic."""


def cli():
    from grpc_server import serve

    serve(lambda req: {"topic": {"partitions": req["spec"]["partitions"]}})
