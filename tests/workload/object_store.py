"""A little object store on loopback that speaks as much of S3 as PyArrow's client asks for.

Objects have keys and bytes; there are no folders, and nothing can be renamed or copied. ``log``
lists what was done, in order; ``failing`` names a part of the keys that cannot be written.
"""

from __future__ import annotations

import hashlib
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlparse
from xml.sax.saxutils import escape


class ObjectStore:
    def __init__(self):
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.log: list[tuple[str, str]] = []
        self.failing = ""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {}))
        self.server.RequestHandlerClass.store = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ObjectStore

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        if isinstance(body, str):
            body = b'<?xml version="1.0" encoding="UTF-8"?>\n' + body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.pop("length", str(len(body))))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @property
    def asked(self):
        parsed = urlparse(self.path)
        bucket, _, key = unquote(parsed.path).lstrip("/").partition("/")
        found = parse_qs(parsed.query, keep_blank_values=True)
        return bucket, key, {name: values[0] for name, values in found.items()}

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b"".join(iter(self.chunk, b""))
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "x-amz-decoded-content-length" not in self.headers:
            return data
        found = b""  # pieces, each after its length and signature
        while True:
            head, _, data = data.partition(b"\r\n")
            length = int(head.split(b";")[0], 16)
            if length == 0:
                return found
            found, data = found + data[:length], data[length + 2 :]

    def chunk(self) -> bytes:
        data = self.rfile.read(int(self.rfile.readline(), 16))
        self.rfile.readline()
        return data

    def describe(self, data):
        tag = hashlib.md5(data).hexdigest()
        return {"ETag": f'"{tag}"', "Last_Modified": formatdate(1_700_000_000, usegmt=True)}

    def do_HEAD(self):
        _, key, _ = self.asked
        if not key:
            self.answer(200, x_amz_bucket_region="us-east-1")
        elif key in self.store.objects:
            data = self.store.objects[key]
            self.answer(200, length=str(len(data)), **self.describe(data))
        else:
            self.answer(404)

    def do_GET(self):
        bucket, key, options = self.asked
        if not key:
            self.answer(200, self.listing(bucket, options), Content_Type="application/xml")
        elif key not in self.store.objects:
            self.answer(404, "<Error><Code>NoSuchKey</Code></Error>")
        else:
            self.store.log.append(("GET", key))
            data, status = self.store.objects[key], 200
            described = self.describe(data)
            if "Range" in self.headers:
                first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
                status, whole = 206, len(data)
                data = data[int(first) : int(last) + 1 if last else None]
                described["Content_Range"] = f"bytes {first}-{int(first) + len(data) - 1}/{whole}"
            self.answer(status, data, **described)

    def listing(self, bucket, options):
        prefix, delimiter = options.get("prefix", ""), options.get("delimiter", "")
        rows, common = "", {}
        for key, data in sorted(self.store.objects.items()):
            if not key.startswith(prefix):
                continue
            inside = key[len(prefix) :]
            if delimiter and delimiter in inside:
                common[prefix + inside.split(delimiter)[0] + delimiter] = None
                continue
            tag = hashlib.md5(data).hexdigest()
            rows += (
                f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><ETag>{tag}</ETag>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            )
        rows += "".join(
            f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in common
        )
        head = f"<Name>{bucket}</Name><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult>{head}{rows}</ListBucketResult>"

    def do_PUT(self):
        _, key, options = self.asked
        data = self.body()
        if "x-amz-copy-source" in self.headers:
            self.answer(501, "<Error><Code>NotImplemented</Code></Error>")
        elif self.store.failing and self.store.failing in key:
            self.answer(403, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
        elif "uploadId" in options:
            self.store.uploads[options["uploadId"]][int(options["partNumber"])] = data
            self.answer(200, **self.describe(data))
        elif key:
            self.keep(key, data)
            self.answer(200, **self.describe(data))
        else:
            self.answer(200)

    def keep(self, key, data):
        if not key.endswith("/"):
            self.store.log.append(("PUT", key))
            self.store.objects[key] = data

    def do_POST(self):
        bucket, key, options = self.asked
        data = self.body()
        if "delete" in options:
            for part in data.decode().split("<Key>")[1:]:
                self.drop(unquote(part.split("</Key>")[0]))
            self.answer(200, "<DeleteResult></DeleteResult>")
        elif "uploads" in options:
            self.store.uploads[name := f"upload-{len(self.store.uploads)}"] = {}
            inside = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{name}</UploadId>"
            self.answer(
                200, f"<InitiateMultipartUploadResult>{inside}</InitiateMultipartUploadResult>"
            )
        else:
            parts = self.store.uploads.pop(options["uploadId"])
            self.keep(key, b"".join(parts[number] for number in sorted(parts)))
            result = f"<Key>{escape(key)}</Key><ETag>x</ETag>"
            self.answer(
                200, f"<CompleteMultipartUploadResult>{result}</CompleteMultipartUploadResult>"
            )

    def do_DELETE(self):
        _, key, _ = self.asked
        self.drop(key)
        self.answer(204)

    def drop(self, key):
        if self.store.objects.pop(key, None) is not None:
            self.store.log.append(("DELETE", key))
