"""`pinnace docs` serves the packed documentation, to this machine alone."""

import io
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pinnace.deploy.cli import docs as command
from pinnace.framework.errors import NotFoundError

PAGES = {"index.html": "front", "api/tf.nn.html": "names", "404.html": "lost", "a/s.css": "p {}"}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    target = tmp_path / "site.tar.xz"
    with tarfile.open(target, "w:xz") as site:
        for name, text in PAGES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            site.addfile(entry, io.BytesIO(text.encode()))
    return target


@pytest.fixture
def client(packed: Path) -> Iterator[httpx.Client]:
    server = command.site_server(command.read_site(packed), 0)
    assert server.server_address[0] == "127.0.0.1"
    answering = threading.Thread(target=server.serve_forever)
    answering.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with httpx.Client(base_url=url, timeout=60) as asking:
            yield asking
    finally:
        server.shutdown()
        server.server_close()
        answering.join()


def test_pages_have_their_types_and_nothing_else_is_read(client: httpx.Client) -> None:
    front = client.get("/")
    assert (front.text, front.headers["content-type"]) == ("front", "text/html")
    assert client.get("/api/tf.nn.html?q=1#x").text == "names"
    assert client.get("/a/s.css").headers["content-type"] == "text/css"
    assert client.head("/index.html").headers["content-length"] == "5"
    for path in ("/gone.html", "/../site.tar.xz", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"):
        missing = client.get(path)
        assert (missing.status_code, missing.text) == (404, "lost")


def test_a_release_has_it_beside_the_code_and_a_checkout_where_it_was_built(
    packed: Path, tmp_path: Path
) -> None:
    assert command._packed(tmp_path) == packed
    inside = tmp_path / "tree" / "deploy" / "cli"
    inside.mkdir(parents=True)
    with pytest.raises(NotFoundError, match=r"carries no documentation(.|\n)*Try: make docs"):
        command._packed(inside)
    built = tmp_path / "tree" / "build" / "site.tar.xz"
    built.parent.mkdir()
    packed.rename(built)
    assert command._packed(inside) == built
