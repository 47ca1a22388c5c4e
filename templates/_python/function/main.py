"""The command line that Crossplane and its tools expect."""

import click
from crossplane.function import logging, runtime

from function import fn


@click.command()
@click.option("--debug", "-d", is_flag=True, help="Log debug messages.")
@click.option("--address", default="0.0.0.0:9443", show_default=True, help="Address of the gRPC server.")
@click.option("--tls-certs-dir", envvar="TLS_SERVER_CERTS_DIR", help="Folder with tls.crt, tls.key and ca.crt.")
@click.option("--insecure", is_flag=True, help="Serve without TLS. Ignores --tls-certs-dir.")
def cli(debug: bool, address: str, tls_certs_dir: str | None, insecure: bool) -> None:
    """Serve the function."""
    logging.configure(level=logging.Level.DEBUG if debug else logging.Level.INFO)
    if not insecure and not tls_certs_dir:
        raise click.UsageError("set --tls-certs-dir or --insecure")
    creds = None if insecure else runtime.load_credentials(tls_certs_dir)
    runtime.serve(fn.FunctionRunner(), address, creds=creds, insecure=insecure)


if __name__ == "__main__":
    cli()
