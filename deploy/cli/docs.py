"""`pinnace docs`: the documentation of this version in a browser, without the internet."""

# No `from __future__ import annotations`: typer reads the annotations.
import functools
import mimetypes
import tarfile
import webbrowser
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

from pinnace.deploy.cli import search_index
from pinnace.deploy.cli.markdown_site import installed_folder, markdown_site
from pinnace.deploy.cli.source_listing import installed_listing
from pinnace.framework.errors import NotFoundError

_NAME = "site.tar.xz"  # `make release` writes it beside this file
_FIRST = "index.html"


def docs(
    port: Annotated[int, typer.Option(help="Port on this machine; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = True,
) -> None:
    """Show the documentation that came with this copy, on this machine only, until Ctrl-C."""
    server = site_server(_site(Path(__file__).resolve().parent), port)
    address = f"http://127.0.0.1:{server.server_port}/"
    typer.echo(f"Documentation on {address} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    finally:
        server.server_close()


def _site(folder: Path) -> dict[str, bytes]:
    """The packed site, or the site that `make docs` built in this checkout, or its plain pages."""
    checkout = folder.parent.parent
    for file in (folder / _NAME, checkout / "build" / _NAME):
        if file.is_file():
            return read_site(file)
    pages = checkout if (checkout / "docs" / "index.md").is_file() else installed_folder()
    if pages is None:
        raise NotFoundError(
            "the documentation was not installed with this copy\n"
            "  Try, in a checkout: pip install --force-reinstall --no-deps ."
        )
    return markdown_site(pages)


def read_site(file: Path) -> dict[str, bytes]:
    """The files of a packed site by name, with `/`.

    All files are compressed as one stream, a third of their size one by one, so they are read at
    once: some 30 MB.

    Args:
        file: the archive.
    """
    with tarfile.open(file, "r:xz") as packed:
        opened = ((entry.name, packed.extractfile(entry)) for entry in packed)
        return {name: content.read() for name, content in opened if content is not None}


def site_server(site: Mapping[str, bytes], port: int) -> ThreadingHTTPServer:
    """A server for a site, on the loopback address only.

    Files that a packed site lacks are made on request: listings of this package's source, and the
    entries of the search index.

    Args:
        site: the files by name.
        port: the port; 0 takes a free one.

    Returns:
        The listening server; call `serve_forever`.
    """
    index = functools.cache(lambda: search_index.filled(site))

    def content(name: str) -> bytes | None:
        if name == search_index.FILE and name in site:
            return index()
        return site[name] if name in site else installed_listing(name)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path).lstrip("/")
            name = path + _FIRST if path.endswith("/") or not path else path
            body = content(name)
            if body is not None:
                self._answer(HTTPStatus.OK, name, body)
            else:
                lost = site.get("404.html", b"not found\n")
                self._answer(HTTPStatus.NOT_FOUND, "404.html", lost)

        def do_HEAD(self) -> None:
            self.do_GET()

        def _answer(self, status: HTTPStatus, name: str, body: bytes) -> None:
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
