"""Secrets of outputs, read when they are needed, so that they can change while we run."""

from __future__ import annotations

import os
from pathlib import Path

from fanwise.service.executor.errors import OutputError

_LARGEST = 65_536


def read_secret(file: Path | None, variable: str | None) -> bytes | None:
    """Return a secret from a file, without the line break at its end, or from the environment.

    None if it is kept in neither.

    Raises
    ------
    OutputError
        If there is none where it should be; the message names the place alone.
    """
    if file is not None:
        try:
            with open(file, "rb") as opened:
                secret = opened.read(_LARGEST).rstrip(b"\r\n")
        except OSError as error:
            raise OutputError(f"the secret in {file} cannot be read: {error.strerror}") from None
        place = str(file)
    elif variable is not None:
        secret = os.environ.get(variable, "").encode(errors="surrogateescape")
        place = f"the environment variable {variable}"
    else:
        return None
    if not secret:
        raise OutputError(f"there is no secret in {place}")
    return secret
