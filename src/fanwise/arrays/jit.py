"""The one door to Numba.

Kernels are decorated with :func:`kernel`. They are compiled on first use and cached on disk, beside
the source or in the user's cache folder (``NUMBA_CACHE_DIR`` overrides both); where nothing is
writable they are compiled anew in each process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` to machine code on its first call, without the interpreter lock."""
    return _compile(function, parallel=False)


def parallel_kernel(function: Function) -> Function:
    """Like :func:`kernel`, with ``numba.prange`` loops spread over threads."""
    return _compile(function, parallel=True)


def callable_in_kernels(function: Function) -> Function:
    """Let kernels call a plain function; everywhere else it stays as it is."""
    shared: Function = register_jitable(function)
    return shared


def _compile(function: Function, *, parallel: bool) -> Function:
    options = {"nogil": True, "parallel": parallel}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no folder it may write its cache to
        compiled = numba.njit(**options)(function)
    _forget_strangers(getattr(compiled, "_cache", None))
    return compiled


def _forget_strangers(cache: Any) -> None:
    """Make a cache drop what it cannot read.

    What an older fanwise left behind may name classes that are no longer there, and Numba looks at
    that before it asks whether the source has changed.
    """
    load = getattr(cache, "load_overload", None)
    if load is None:
        return

    def load_or_forget(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except (AttributeError, ImportError):
            cache.flush()
            return None

    cache.load_overload = load_or_forget


prange = numba.prange


class _Announcer(event.Listener):  # type: ignore[misc]
    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce

    def on_start(self, event: Any) -> None:
        function = getattr(event.data.get("dispatcher"), "__name__", "a kernel")
        self._announce(function)

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announce_compilation(announce: Callable[[str], None]) -> Iterator[None]:
    """Call ``announce(name)`` whenever a kernel is really compiled inside the ``with`` block."""
    with event.install_listener("numba:compile", _Announcer(announce)):
        yield


def cache_folder(function: Callable[..., Any]) -> str | None:
    """Return where a kernel's machine code is kept on disk, or None where nothing is writable."""
    stats = getattr(function, "stats", None)
    return getattr(stats, "cache_path", None)
