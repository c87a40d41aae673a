"""`pinnace docs` serves the packaged documentation, on the loopback interface only."""

import io
import posixpath
import re
import tarfile
import threading
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import httpx
import pytest

from pinnace.deploy.cli import docs as command
from pinnace.deploy.cli.markdown_site import markdown_site
from pinnace.framework.errors import NotFoundError

ROOT = Path(__file__).resolve().parents[4]
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
    listed = client.get("/source/core/keras/layers/dense.py.html")
    assert "class" in listed.text
    assert listed.headers["content-type"] == "text/html"
    for path in (
        "/gone.html",
        "/source/core/../x.py.html",
        "/../site.tar.xz",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
    ):
        missing = client.get(path)
        assert (missing.status_code, missing.text) == (404, "lost")


def test_a_release_has_it_beside_the_code_and_a_checkout_where_it_was_built(
    packed: Path, tmp_path: Path
) -> None:
    assert command._site(tmp_path)["index.html"] == b"front"
    inside = tmp_path / "tree" / "deploy" / "cli"
    inside.mkdir(parents=True)
    built = tmp_path / "tree" / "build" / "site.tar.xz"
    built.parent.mkdir()
    packed.rename(built)
    assert command._site(inside)["index.html"] == b"front"


def test_a_copy_without_pages_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "files", lambda _: [])
    with pytest.raises(
        NotFoundError, match=r"documentation was not installed(.|\n)*Try, in a checkout: pip"
    ):
        command._site(tmp_path / "deploy" / "cli")


def test_pages_of_a_checkout_are_shown_and_lead_to_each_other() -> None:
    site = markdown_site(ROOT)
    assert b"<h1" in site["index.html"]
    assert b"<table>" in site["docs/reference/environment.html"]
    links = 0
    for name, page in site.items():
        if not name.endswith(".html"):
            continue
        anchors = set(re.findall(r' id="([^"]+)"', page.decode()))
        for target in re.findall(r'(?:href|src)="([^":]+)"', page.decode()):
            path, _, place = target.partition("#")
            joined = posixpath.join(posixpath.dirname(name), path) if path else name
            found = posixpath.normpath(joined).lstrip("/")
            if not found.endswith((".html", ".svg", ".png")) or found.startswith("build/"):
                continue  # files of the checkout, and pages of `make pages`
            assert found in site, (name, target)
            if place and found == name:
                assert place in anchors, (name, target)
            links += 1
    assert links > 200


def test_every_folder_of_pages_is_installed() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        installed = tomllib.load(file)["tool"]["setuptools"]["data-files"]
    held = {path for patterns in installed.values() for one in patterns for path in ROOT.glob(one)}
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in {".md", ".svg", ".png"}:
            assert path in held, path
    for folder, patterns in installed.items():
        place = folder.removeprefix("share/pinnace").lstrip("/")
        assert all(str(Path(one).parent) == (place or ".") for one in patterns), folder
