"""The ``fanwise`` command: from arguments to an exit status, whatever happens.

Signals are listened to before anything heavy is loaded, so that Ctrl-C means the same at any time.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from fanwise.cli.signals import WORDS, Listener

INTERRUPTED = 130
COMMANDS = (
    "ingest",
    "generate",
    "sample",
    "stats",
    "select",
    "provision",
    "connect",
    "assign",
    "wire",
    "compare",
    "sweep",
    "verify",
    "explain",
    "diff",
    "plot",
    "report",
    "reproduce",
    "export",
    "deploy",
    "serve",
    "decisions",
    "broker",
    "doctor",
)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with the contract's status: 0, 1, 2, 130 or 143.

    Parameters
    ----------
    arguments
        Those of the process, whose end this is then; or others, from inside a process that goes on.
    """
    listener = Listener()
    status = INTERRUPTED
    try:
        with listener.listening(to_the_end=arguments is None):
            from fanwise.cli.app import run

            status = run(arguments)
    except BaseException:
        # Whatever a signal became on its way up, it is one.
        if listener.heard is None:
            raise
    if listener.heard is not None or status == INTERRUPTED:
        complain(WORDS[listener.heard or signal.SIGINT])
    status = status if listener.status is None else listener.status
    if arguments is None and listener.heard == signal.SIGINT:
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> NoReturn:
    """End the process with a status, its exit handlers run.

    Where Ctrl-C arrived in Python code that an extension module ran while it was imported, the
    interpreter remembers that, and would end by the signal itself in place of the status.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads any more
            stream.flush()
    os._exit(status)


def complain(message: str) -> None:
    """Say on standard error in one line what is wrong."""
    from fanwise.formatting import printable

    if "fanwise.workload.remote" in sys.modules:
        message = sys.modules["fanwise.workload.remote"].with_addresses(message)
    sys.stderr.write("fanwise: " + printable(" ".join(message.split())) + "\n")
