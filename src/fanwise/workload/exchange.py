"""Two paths that change places in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_HERE = -100  # AT_FDCWD: relative paths start at the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTTY)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places; False where the system or the disk cannot do it."""
    rename = _rename()
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _rename() -> Any:
    """Return Linux's ``renameat2``, or None elsewhere."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = (
        ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
    )  # fmt: skip
    return function
