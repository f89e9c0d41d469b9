"""Declares the arguments of `aioli serve` and `aioli service`; the code of the service is loaded when one is called."""

import argparse

__all__ = ["add_serve", "run_serve", "run_service"]


def add_serve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add both commands to the parser."""
    serve = commands.add_parser("serve", help="predict by id now, learn by id when the label comes; durable, over HTTP")
    _add_service_folder(serve)
    serve.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8477, metavar="N", help="the port (default: 8477; 0: any free one)")
    serve.add_argument("--allow-remote", action="store_true", help="listen on an address that other machines reach")
    serve.add_argument(
        "--sync",
        choices=("normal", "full"),
        default="normal",
        help="full survives a loss of power too, and waits for it",
    )
    serve.add_argument("--snapshot-every", type=int, default=20_000, metavar="N", help="entries of the log (20000)")
    serve.add_argument("--most-waiting", type=int, default=100_000, metavar="N", help="rows without a label (100000)")
    serve.add_argument("--longest-wait", default="30d", metavar="T", help="of a row for its label (default: 30d)")
    serve.add_argument("--largest-body", type=int, default=4 << 20, metavar="BYTES", help="of a request (4 MiB)")
    serve.add_argument("--rate", type=float, default=50_000.0, metavar="N", help="requests a second of a token (50000)")
    serve.add_argument("--connections", type=int, default=1000, metavar="N", help="open at once (default: 1000)")
    serve.add_argument("--log-requests", action="store_true", help="log every request, not only refused ones")
    serve.add_argument(
        "--follow", type=float, metavar="S", help="only predict, from the log of another process, read every S seconds"
    )
    serve.add_argument(
        "--vw-port", type=int, metavar="N", help="take Vowpal Wabbit's text over TCP too, on this machine"
    )
    serve.add_argument("--vw-model", default="vw", metavar="NAME", help="the model that plays it (default: vw)")
    service = commands.add_parser("service", help="the log of `aioli serve`: backup, restore, export, verify, token")
    actions = service.add_subparsers(dest="action", required=True, metavar="ACTION")
    backup = actions.add_parser("backup", help="copy the log of a service, which may be running")
    _add_service_folder(backup)
    backup.add_argument("target", metavar="DIR", help="a new folder")
    restore = actions.add_parser("restore", help="make a service's folder from a backup, as of any moment")
    restore.add_argument("backup", metavar="BACKUP", help="what `aioli service backup` wrote")
    _add_service_folder(restore)
    restore.add_argument("--time", type=float, metavar="S", help="as of this time, in seconds since 1970")
    restore.add_argument("--entry", type=int, metavar="N", help="as of this entry of the log")
    export = actions.add_parser("export", help="write a model's log as Parquet files that `aioli run` plays")
    _add_service_folder(export)
    export.add_argument("name", metavar="MODEL", help="the model")
    export.add_argument("--rows", default="rows.parquet", metavar="FILE", help="(default: rows.parquet)")
    export.add_argument("--labels", default="labels.parquet", metavar="FILE", help="(default: labels.parquet)")
    _add_service_folder(actions.add_parser("verify", help="play every log, and compare the states bit for bit"))
    token = actions.add_parser("token", help="make another access token, while the service is not running")
    _add_service_folder(token)
    token.add_argument("rights", choices=("read", "write"), help="what it may do")


def _add_service_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("--folder", default="aioli-service", metavar="DIR", help="of the service (./aioli-service)")


def run_serve(given: argparse.Namespace) -> None:
    """Serve, as the arguments say."""
    from aioli.commands.serve import ServeOptions, serve
    from aioli.evaluate.delay import read_delay
    from aioli.service.waiting import Limits

    serve(
        ServeOptions(
            folder=given.folder,
            host=given.host,
            port=given.port,
            remote=given.allow_remote,
            sync=given.sync,
            every=given.snapshot_every,
            limits=Limits.checked(given.most_waiting, read_delay(given.longest_wait).seconds),
            largest_body=given.largest_body,
            rate=given.rate,
            connections=given.connections,
            log_requests=given.log_requests,
            follow=given.follow,
            vw_port=given.vw_port,
            vw_model=given.vw_model,
        )
    )


def run_service(given: argparse.Namespace) -> int:
    """Do what is asked with a service's log; return the exit status."""
    from aioli.commands import serve

    if given.action == "backup":
        serve.backup_service(given.folder, given.target)
    elif given.action == "restore":
        serve.restore_service(given.backup, given.folder, given.time, given.entry)
    elif given.action == "export":
        serve.export_service(given.folder, given.name, given.rows, given.labels)
    elif given.action == "token":
        serve.make_service_token(given.folder, given.rights)
    else:
        return serve.verify_service(given.folder)
    return 0
