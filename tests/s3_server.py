"""A minimal store on this machine that speaks enough of S3 to be read and written: list, head, get with ranges, put, delete."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY, SECRET_KEY = "reader-of-tests", "do-not-show-this-key"
UPLOAD = "upload-1"


@contextmanager
def s3_server(bucket: str, objects: dict[str, bytes]) -> Iterator[str]:
    """The address of a store with one bucket. Requests without the right key are refused."""
    class Handler(_Handler):
        stored, name, parts = objects, bucket, {}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _tag(content: bytes) -> str:
    """The entity tag of an object, as a store gives it."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _joined(stream: BinaryIO) -> bytes:
    """The content of chunks: each with its size in front, the last one empty and followed by lines up to an empty one."""
    out = b""
    while size := int(stream.readline().split(b";")[0], 16):
        out += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass
    return out


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stored: dict[str, bytes]
    name: str
    parts: dict[tuple[str, int], bytes]  # of objects that are being sent

    def log_message(self, *_: object) -> None:
        """No log."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_PUT(self) -> None:
        key, query = self._asked(), parse_qs(urlsplit(self.path).query)
        content = self._content()
        if key is None:
            return
        if "partNumber" in query:
            self.parts[key, int(query["partNumber"][0])] = content
        else:
            self.stored[key] = content
        self._send(200, b"", True, "application/octet-stream", tag=_tag(content))

    def do_POST(self) -> None:
        """Begin an object of several parts, or complete it."""
        key, query = self._asked(), urlsplit(self.path).query
        self._content()
        if key is None:
            return
        answer = f"<InitiateMultipartUploadResult><UploadId>{UPLOAD}</UploadId></InitiateMultipartUploadResult>"
        if "uploadId" in query:
            own = sorted(k for k in self.parts if k[0] == key)
            self.stored[key] = b"".join(self.parts.pop(k) for k in own)
            answer = "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
        self._send(200, answer.encode(), True)

    def do_DELETE(self) -> None:
        key = self._asked()
        if key is not None:
            self.stored.pop(key, None)
            self._send(204, b"", False)

    def _content(self) -> bytes:
        """What was sent. Arrow sends chunks of the store's own form, with a checksum at the end, in chunks of HTTP."""
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        body = _joined(self.rfile) if chunked else self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return _joined(io.BytesIO(body)) if "aws-chunked" in self.headers.get("Content-Encoding", "") else body

    def _asked(self, body: bool = True) -> str | None:
        """The key that a request names; None if it is refused, which has then been answered."""
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            self._send(403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>", body)
            return None
        if bucket != self.name:
            self._send(404, b"<Error><Code>NoSuchBucket</Code><Message>no</Message></Error>", body)
            return None
        return key

    def _answer(self, body: bool) -> None:
        url, key = urlsplit(self.path), self._asked(body)
        if key is None:
            return None
        if not key:
            return self._send(200, self._listing(parse_qs(url.query)), body)
        if key not in self.stored:
            return self._send(404, b"<Error><Code>NoSuchKey</Code><Message>no</Message></Error>", body)
        content, asked = self.stored[key], self.headers.get("Range", "")
        if not asked:
            return self._send(200, content, body, "application/octet-stream", tag=_tag(content))
        low, _, high = asked.removeprefix("bytes=").partition("-")
        end = min(int(high) if high else len(content) - 1, len(content) - 1)
        return self._send(206, content[int(low):end + 1], body, "application/octet-stream",
                          f"bytes {int(low)}-{end}/{len(content)}", _tag(content))

    def _listing(self, query: dict[str, list[str]]) -> bytes:
        prefix, mark = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        keys, folders = [], dict[str, None]()
        for key in sorted(k for k in self.stored if k.startswith(prefix)):
            inside, found, _ = key[len(prefix):].partition(mark) if mark else (key, "", "")
            if found:
                folders[f"{prefix}{inside}{mark}"] = None
            else:
                keys.append(key)
        listed = "".join(
            f"<Contents><Key>{escape(k)}</Key><Size>{len(self.stored[k])}</Size>"
            "<LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>e</ETag></Contents>" for k in keys)
        listed += "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders)
        return (f'<?xml version="1.0"?><ListBucketResult><Name>{self.name}</Name><Prefix>{escape(prefix)}</Prefix>'
                f"<KeyCount>{len(keys) + len(folders)}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>"
                f"{listed}</ListBucketResult>").encode()

    def _send(self, status: int, content: bytes, body: bool, kind: str = "application/xml", span: str = "",
              tag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", formatdate(0, usegmt=True))
        if kind == "application/octet-stream":
            self.send_header("ETag", f'"{tag}"')
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if body:
            self.wfile.write(content)
