"""`pinnace docs`: the documentation of this copy, in a browser, without the internet."""

# No `from __future__ import annotations`: typer reads the annotations.
import mimetypes
import webbrowser
import zipfile
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

from pinnace.framework.errors import NotFoundError

_NAME = "site.zip"  # `make release` puts it beside this file
_FIRST = "index.html"


def docs(
    port: Annotated[int, typer.Option(help="Port on this machine; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = True,
) -> None:
    """Show the documentation that came with this copy, on this machine only, until Ctrl-C."""
    with zipfile.ZipFile(_packed(Path(__file__).resolve().parent)) as site:
        server = site_server(site, port)
        address = f"http://127.0.0.1:{server.server_port}/"
        typer.echo(f"Documentation on {address} (Ctrl-C ends it)")
        if browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        finally:
            server.server_close()


def _packed(folder: Path) -> Path:
    """The site beside this file, else the one that `make docs` built in this checkout."""
    for file in (folder / _NAME, folder.parent.parent / "build" / _NAME):
        if file.is_file():
            return file
    raise NotFoundError(
        "this copy carries no documentation: it was not installed from a release\n"
        "  Try: make docs, in a checkout, then pinnace docs there; or read its folder docs/"
    )


def site_server(site: zipfile.ZipFile, port: int) -> ThreadingHTTPServer:
    """A server of a packed site, on the loopback address alone.

    Args:
        site: the opened archive.
        port: 0 takes a free one.

    Returns:
        The server, which listens; `serve_forever` answers.
    """
    names = frozenset(site.namelist())
    reading = Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path).lstrip("/")
            name = path + _FIRST if path.endswith("/") or not path else path
            if name in names:
                self._answer(HTTPStatus.OK, name)
            else:
                self._answer(HTTPStatus.NOT_FOUND, "404.html")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _answer(self, status: HTTPStatus, name: str) -> None:
            with reading:  # one file, one position in it
                body = site.read(name) if name in names else b"not found\n"
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
