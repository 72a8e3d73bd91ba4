"""Files of the page: our own from the package, charts from Bokeh's wheel; kept compressed too.

Paths of our own files have their fingerprint in them and that of the chart library its version, so
browsers keep them for good; the page itself is asked for anew each time.
"""

from __future__ import annotations

import gzip
import hashlib
import secrets
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fanwise.service.page.headers import page_policy

TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass
class File:
    """Something to serve, with its compressed form once somebody asks for it."""

    content: bytes
    kind: str

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, 9, mtime=0)

    def answer(self, request: Request, headers: dict[str, str]) -> Response:
        """Return it, compressed for whoever takes that."""
        is_taken = "gzip" in request.headers.get("accept-encoding", "")
        told = {**headers, "Vary": "Accept-Encoding"}
        if is_taken:
            told["Content-Encoding"] = "gzip"
        content = self.compressed if is_taken else self.content
        return Response(content, media_type=self.kind, headers=told)


class Page:
    """What is served at ``/`` and below ``/page/``."""

    def __init__(self) -> None:
        folder = files("fanwise.service.page") / "static"
        own = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
        self._html = own.pop("index.html").decode()
        fingerprint = hashlib.sha256(
            b"".join(name.encode() + own[name] for name in sorted(own))
        ).hexdigest()[:12]
        self._base = f"/page/{fingerprint}"
        self._files = {
            f"{self._base}/{name}": File(content, TYPES[Path(name).suffix])
            for name, content in own.items()
        }
        self._charts, library = "", find_charts()
        if library is not None:
            self._charts = f"/page/bokeh-{version('bokeh')}.js"
            self._files[self._charts] = File(library.read_bytes(), TYPES[".js"])

    @property
    def routes(self) -> list[Route]:
        """Routes of all that there is."""
        return [
            Route("/", self.show, methods=["GET"]),
            Route("/page/{rest:path}", self.send_file, methods=["GET"]),
        ]

    @property
    def num_bytes(self) -> int:
        """Size of everything, as it is before compression."""
        return len(self._html) + sum(len(one.content) for one in self._files.values())

    def show(self, request: Request) -> Response:
        """Answer with the page."""
        nonce = secrets.token_urlsafe(16)
        text = self._html.replace("{base}", self._base).replace("{charts}", self._charts)
        page = File(text.replace("{nonce}", nonce).encode(), "text/html; charset=utf-8")
        return page.answer(
            request, {"Content-Security-Policy": page_policy(nonce), "Cache-Control": "no-store"}
        )

    def send_file(self, request: Request) -> Response:
        """Answer with a file of the page."""
        found = self._files.get(request.url.path)
        if found is None:
            return Response("There is no such file.", 404, media_type="text/plain")
        return found.answer(request, {"Cache-Control": FOR_GOOD})


def find_charts() -> Path | None:
    """Return where Bokeh keeps its library for browsers, without importing Bokeh."""
    spec = find_spec("bokeh")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "server" / "static" / "js" / "bokeh.min.js"
    return path if path.is_file() else None
