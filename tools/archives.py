"""Archives with the same bytes whenever and wherever they are made."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path


def repack(sdist: Path, seconds: int) -> None:
    """Writes a .tar.gz again: sorted, with one time, without users.

    Build tools put the times of files and the name of the user into it.

    Args:
        sdist: the file; it is replaced.
        seconds: since 1970, the time of all members.
    """
    target = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=target, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.linkname = member.type, member.size, member.linkname
            entry.mtime = seconds
            entry.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(member) if member.isfile() else None)
    # The header of gzip has a time and a name, too.
    packed = gzip.compress(target.getvalue(), compresslevel=9, mtime=seconds)
    sdist.write_bytes(packed)


def digest(file: Path) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def differences(one: Path, other: Path) -> list[str]:
    """The differences of two archives: members that only one has, or whose bytes differ.

    Args:
        one: a .whl or .tar.gz.
        other: of the same kind.

    Returns:
        Lines for people; none if the files are equal bit for bit.
    """
    if one.read_bytes() == other.read_bytes():
        return []
    first, second = _members(one), _members(other)
    names = sorted(first.keys() | second.keys())
    found = [name for name in names if first.get(name) != second.get(name)]
    return [f"{one.name}: {name}" for name in found] or [f"{one.name}: order or times of members"]


def _members(file: Path) -> dict[str, bytes]:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(file) as sdist:
        opened = {one.name: sdist.extractfile(one) for one in sdist.getmembers() if one.isfile()}
        return {name: held.read() for name, held in opened.items() if held}
