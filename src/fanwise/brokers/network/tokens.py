"""Tokens that let clients and brokers in: compared in constant time, and never shown."""

from __future__ import annotations

import hashlib
import hmac
import stat
from collections.abc import Iterable
from pathlib import Path

from fanwise.errors import InputError, ParameterError

LEAST_LENGTH = 16


class TokenFileError(InputError):
    """A file of tokens that is of no use."""


class Tokens:
    """Who may come in; without tokens, everybody.

    Parameters
    ----------
    tokens
        Any of these is as good as another: while one is replaced, both the old and the new let in.
    """

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        # Digests: compared ones are equally long then, and a dump of memory shows fewer secrets.
        self._digests = [_digest(token) for token in tokens]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def admits(self, token: str) -> bool:
        """Return whether a token lets in; takes as long for a wrong one as for a right one."""
        given = _digest(token)
        is_right = not self._digests
        for digest in self._digests:
            is_right |= hmac.compare_digest(digest, given)
        return is_right


def read_tokens(file: Path, setting: str) -> list[str]:
    """Return the tokens of a file: one a line, lines that begin with # aside.

    Raises
    ------
    TokenFileError
        Which names the setting, the file and what to do, and never a token.
    """
    try:
        text = file.read_text(encoding="utf-8")
        mode = file.stat().st_mode
    except UnicodeDecodeError:
        raise TokenFileError(f"{setting}: {file} is not text in UTF-8.") from None
    except OSError as error:
        raise TokenFileError(f"{setting}: {file} cannot be read: {error.strerror}.") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise TokenFileError(f"{setting}: others may read {file}; chmod 600 {file}")
    lines = [line.strip() for line in text.splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens:
        raise TokenFileError(f"{setting}: {file} holds no token: one a line.")
    for number, line in enumerate(lines, 1):
        if line in tokens and len(line) < LEAST_LENGTH:
            raise TokenFileError(
                f"{setting}: {file} line {number}: a token has at least {LEAST_LENGTH} characters."
            )
    return tokens


def check_token(token: str) -> str:
    """Return a token that a program gave, or refuse it without showing it."""
    if not isinstance(token, str) or (token and len(token) < LEAST_LENGTH):
        raise ParameterError("token", f"at least {LEAST_LENGTH} characters", "something else")
    return token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
