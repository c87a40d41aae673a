"""get_file: downloaded once, completely, verified by its digest, and unpacked inside its folder."""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

get_file = tf.keras.utils.get_file
DATA = bytes(range(256)) * 40


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "data.bin").write_bytes(DATA)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


class _Cut(http.server.SimpleHTTPRequestHandler):
    """A server that promises more than it sends for names with `cut` in them."""

    def log_message(self, *_: Any) -> None:
        pass

    def end_headers(self) -> None:
        if "cut" in self.path:
            self._headers_buffer = [  # type: ignore[attr-defined]
                line.replace(b"10240", b"99999") for line in self._headers_buffer
            ]
        super().end_headers()


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = partial(_Cut, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_it_is_fetched_once(site: Path, address: str, cache: Path) -> None:
    path = Path(get_file(origin=f"{address}/data.bin?x=1", cache_dir=cache))
    assert path == cache / "datasets" / "data.bin"
    assert path.read_bytes() == DATA
    (site / "data.bin").write_bytes(b"new")
    assert get_file("data.bin", f"{address}/data.bin", cache_dir=cache) == str(path)
    assert path.read_bytes() == DATA
    get_file("data.bin", f"{address}/data.bin", cache_dir=cache, force_download=True)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_the_digest_decides(site: Path, cache: Path, algorithm: str) -> None:
    origin = (site / "data.bin").as_uri()
    right = hashlib.new(algorithm, DATA).hexdigest()
    path = Path(get_file(origin=origin, file_hash=right, cache_dir=cache))
    (site / "data.bin").write_bytes(b"new")
    with pytest.raises(ValueError, match="has not the digest"):
        get_file(origin=origin, file_hash=hashlib.md5(b"").hexdigest(), cache_dir=cache)
    # The existing file stays, without a partial file beside it.
    assert path.read_bytes() == DATA
    assert [one.name for one in path.parent.iterdir()] == ["data.bin"]
    with pytest.raises(ValueError, match=r"32 .* or 64 .* digits, got 3"):
        get_file(origin=origin, file_hash="abc", cache_dir=cache)


def test_a_cut_answer_is_no_file(site: Path, address: str, cache: Path) -> None:
    (site / "cut.bin").write_bytes(DATA)
    with pytest.raises(OSError, match="ended after 10240 of 99999 bytes"):
        get_file(origin=f"{address}/cut.bin", cache_dir=cache)
    with pytest.raises(OSError, match="404"):
        get_file(origin=f"{address}/none.bin", cache_dir=cache)
    assert not list((cache / "datasets").iterdir())


def archive(path: Path, names: list[str]) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name in names:
                zipped.writestr(name, name)
        return
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_an_archive_is_unpacked_beside_it(site: Path, cache: Path, suffix: str) -> None:
    archive(site / f"all{suffix}", ["a.txt", "in/b.txt"])
    origin = (site / f"all{suffix}").as_uri()
    # Names as in Keras: without `fname` the folder has the archive's name.
    folder = Path(get_file(origin=origin, extract=True, cache_dir=cache))
    assert folder == cache / "datasets" / f"all{suffix}"
    assert (folder / "in" / "b.txt").read_text() == "in/b.txt"
    assert (cache / "datasets" / f"all{suffix}_archive").is_file()
    named = Path(get_file(f"mine{suffix}", origin, extract=True, cache_dir=cache))
    assert named == cache / "datasets" / "mine_extracted"
    assert (named / "a.txt").is_file()
    (named / "a.txt").write_text("kept")
    get_file(f"mine{suffix}", origin, extract=True, cache_dir=cache)
    assert (named / "a.txt").read_text() == "kept"


def test_an_archive_that_reaches_outside_is_refused(site: Path, cache: Path) -> None:
    archive(site / "bad.tar.gz", ["fine.txt", "../../outside.txt"])
    with pytest.raises(ValueError, match="outside"):
        get_file("bad.tar.gz", (site / "bad.tar.gz").as_uri(), untar=True, cache_dir=cache)
    assert not list(cache.parent.rglob("outside.txt"))
    assert not (cache / "datasets" / "bad_extracted").exists()
    with pytest.raises(ValueError, match="not an archive of the kinds"):
        get_file("data.bin", (site / "data.bin").as_uri(), extract=True, cache_dir=cache)


def test_what_is_missing_is_told(cache: Path) -> None:
    with pytest.raises(ValueError, match="origin must be a URL, got None"):
        get_file("x", cache_dir=cache)
    with pytest.raises(ValueError, match="ends in no name"):
        get_file(origin="http://localhost/", cache_dir=cache)
    with pytest.raises(ValueError, match="without folders, got 'a/b'"):
        get_file("a/b", "http://localhost/x", cache_dir=cache)
