"""torchrun's options, in both spellings, ``--nproc_per_node`` and ``--nproc-per-node``."""
from __future__ import annotations

import argparse
import os
import socket
from typing import Any

#: Options that are accepted and change nothing: one machine, or the main one's address, is enough to meet.
WITHOUT_EFFECT = ("rdzv-backend", "rdzv-id", "rdzv-conf", "monitor-interval", "start-method", "role", "log-dir",
                  "local-addr", "local-ranks-filter", "logs-specs", "redirects", "tee", "event-log-handler")


def _option(parser: argparse.ArgumentParser, name: str, *short: str, **details: Any) -> None:
    spellings = dict.fromkeys([f"--{name}", f"--{name.replace('-', '_')}"])
    parser.add_argument(*short, *spellings, dest=details.pop("dest", name.replace("-", "_")), **details)


def _count(text: str) -> int:
    """Return a number of processes: as many as cores for "auto" and "cpu"."""
    return os.cpu_count() or 1 if text in ("auto", "cpu") else int(text)


def _nodes(text: str) -> int:
    """Return the number of machines; of a range, the least."""
    return int(text.partition(":")[0])


class _Endpoint(argparse.Action):
    def __call__(self, parser: Any, options: Any, value: Any, option: Any = None) -> None:
        options.master_addr, _, port = value.partition(":")
        options.master_port = int(port or 29400)


class _Standalone(argparse.Action):
    def __call__(self, parser: Any, options: Any, value: Any, option: Any = None) -> None:
        with socket.create_server(("localhost", 0)) as server:
            options.master_addr, options.master_port = "localhost", server.getsockname()[1]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options, and the program with its arguments, to a parser."""
    _option(parser, "nproc-per-node", "-n", dest="count", type=_count, default=1, metavar="NUMBER",
            help="how many processes; 'auto' is the number of cores")
    _option(parser, "nnodes", dest="nodes", type=_nodes, default=1, metavar="NUMBER", help="how many machines")
    _option(parser, "node-rank", type=int, default=0, metavar="NUMBER", help="the number of this machine")
    _option(parser, "master-addr", default="localhost", metavar="HOST", help="the machine of rank 0")
    _option(parser, "master-port", type=int, default=29500, metavar="PORT", help="a free port there")
    _option(parser, "rdzv-endpoint", action=_Endpoint, metavar="HOST:PORT", help="both of them")
    _option(parser, "standalone", action=_Standalone, nargs=0, help="one machine, and any free port")
    _option(parser, "max-restarts", type=int, default=0, metavar="NUMBER", help="start anew so often if a rank fails")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument("-l", "--label", action="store_true", help="begin each line of output with its rank")
    for name in WITHOUT_EFFECT:
        _option(parser, name, *{"redirects": ["-r"], "tee": ["-t"]}.get(name, []), help=argparse.SUPPRESS)
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
