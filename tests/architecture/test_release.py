"""Two builds of one commit are equal, or the difference is reported."""

import io
import os
import sys
import tarfile
import tomllib
import types
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from architecture.sources import ROOT


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def packed(file: Path, members: dict[str, bytes], mtime: int, user: str) -> Path:
    with tarfile.open(file, "w:gz") as target:
        for name, body in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.uname, entry.mode = len(body), mtime, user, 0o640
            target.addfile(entry, io.BytesIO(body))
    return file


def test_sdists_that_only_times_users_and_order_tell_apart_become_equal(tmp_path: Path) -> None:
    import archives

    one = packed(tmp_path / "one.tar.gz", {"p/a": b"a", "p/b": b"b"}, 1, "me")
    two = packed(tmp_path / "two.tar.gz", {"p/b": b"b", "p/a": b"a"}, 2, "you")
    assert archives.differences(one, two)
    for file in (one, two):
        archives.repack(file, 1_700_000_000)
    assert archives.differences(one, two) == []
    assert archives.digest(one) == archives.digest(two)
    with tarfile.open(one) as sdist:
        entries = sdist.getmembers()
        assert [(e.name, e.mtime, e.uname, e.mode) for e in entries] == [
            ("p/a", 1_700_000_000, "", 0o644),
            ("p/b", 1_700_000_000, "", 0o644),
        ]
        assert sdist.extractfile("p/b").read() == b"b"


def test_the_member_that_differs_is_named(tmp_path: Path) -> None:
    import archives

    wheels = [tmp_path / "a" / "x.whl", tmp_path / "b" / "x.whl"]
    for number, file in enumerate(wheels):
        file.parent.mkdir()
        with zipfile.ZipFile(file, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("same.py"), "1")
            wheel.writestr(zipfile.ZipInfo("other.py"), str(number))
            if number:
                wheel.writestr(zipfile.ZipInfo("more.py"), "")
    assert archives.differences(*wheels) == ["x.whl: more.py", "x.whl: other.py"]


def test_a_wheel_packed_again_has_the_same_members_and_is_smaller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def compress(content: bytes, level: int) -> bytes:
        assert level == 12
        packer = zlib.compressobj(9, wbits=-15)
        return packer.compress(content) + packer.flush()

    # The real program is among those of a release.
    monkeypatch.setitem(sys.modules, "deflate", types.SimpleNamespace(deflate_compress=compress))
    import smaller_wheels

    file = tmp_path / "x.whl"
    members = {"x/a.py": b"a = 1\n" * 999, "x/noise.bin": os.urandom(99), "x/empty": b"", "é": b"e"}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, (2026, 11, 30, 7, 59, 58))
            entry.external_attr = 0o100755 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
        with wheel.open("x/late.py", "w") as late:  # its size follows
            late.write(b"late")
    again = tmp_path / "again.whl"
    again.write_bytes(smaller_wheels.repacked(file))
    assert again.stat().st_size < file.stat().st_size
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(again) as new:
        assert new.testzip() is None
        assert new.namelist() == [*members, "x/late.py"]
        for one, other in zip(old.infolist(), new.infolist(), strict=True):
            assert old.read(one) == new.read(other)
            for field in ("date_time", "external_attr", "create_system", "CRC", "file_size"):
                assert getattr(one, field) == getattr(other, field)
    assert smaller_wheels.repacked(again) == again.read_bytes()


def test_a_budget_that_is_passed_and_a_tag_of_another_version_stop_a_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import release

    with pytest.raises(release.ReleaseError, match=r"the wheel, MiB: 6\.10 is above .* of 6"):
        release._within("the wheel, MiB", 6.1, 6.0)
    told = {"status": "", "tag": "v9.9\nother"}
    monkeypatch.setattr(release, "_git", lambda *words: told[words[0]])
    with pytest.raises(release.ReleaseError, match=r"tags are \['v9\.9'\], and .* says '0\.1'"):
        release._check_commit("0.1")
    told["tag"] = "v0.0.0.1"
    with pytest.raises(release.ReleaseError, match=r"CHANGELOG\.md has no heading for 0\.0\.0\.1"):
        release._check_commit("0.0.0.1")
    told["status"] = " M README.md"
    with pytest.raises(release.ReleaseError, match="in no commit"):
        release._check_commit("0.1")


@pytest.mark.parametrize(
    ("found", "content", "said"),
    [
        ({}, b"\0GLIBC_2.2.5\0GLIBC_2.27\0", ""),
        ({}, b"\0GLIBC_2.14\0GLIBC_2.34\0", r"x\.so wants glibc 2\.34.* 2\.28"),
        ({"system": "linux-aarch64"}, b"", "is for linux-aarch64, not for linux-x86_64"),
        ({"offered": {"a"}}, b"", "does not offer b, and 1 in all"),
        ({"needed": ["libc.so.6", "libpython3.11.so"]}, b"", r"needs libpython3\.11\.so"),
    ],
)
def test_machine_code_that_would_not_load_on_the_platform_of_its_wheel_stops_a_release(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    found: dict[str, Any],
    content: bytes,
    said: str,
) -> None:
    import library_files
    import platform_wheel
    import release

    (tmp_path / "x.so").write_bytes(content)
    good = library_files.LibraryFile("linux-x86_64", {"a", "b", "c"}, ["libm.so.6", "libc.so.6"])
    monkeypatch.setattr(library_files, "read", lambda _: good._replace(**found))
    platform = platform_wheel.PLATFORMS[0]
    if not said:
        release._check_library(platform, tmp_path / "x.so", {"a", "b"})
        return
    with pytest.raises(release.ReleaseError, match=said):
        release._check_library(platform, tmp_path / "x.so", {"a", "b"})


@pytest.mark.parametrize(
    ("licence", "free"),
    [
        ("MIT License", True),
        ("BSD-3-Clause AND MIT", True),
        ("Apache Software License", True),
        ("GPL-3.0-only", False),
        ("BSD; AGPL-3.0", False),
        ("UNKNOWN", False),
    ],
)
def test_licences_that_ask_for_more_are_looked_at(licence: str, free: bool) -> None:
    import release

    assert release._is_free(licence) is free


def test_the_version_stands_in_one_place() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    sources = [file for top in ("core", "deploy", "serving") for file in (ROOT / top).rglob("*.py")]
    assert [file for file in sources if f'"{version}"' in file.read_text()] == []
