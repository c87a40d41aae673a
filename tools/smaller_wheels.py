"""Packs the members of wheels again, smaller: a program that `make release` runs.

    smaller_wheels.py WHEEL...

libdeflate searches longer than zlib for a shorter form of the same format, which every installer
reads. Members, their order and their times stay.
"""

import functools
import struct
import sys
import zipfile
from pathlib import Path

import deflate

LEVEL = 12  # the highest
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")


def main() -> int:
    """Run the command line."""
    for name in sys.argv[1:]:
        wheel = Path(name)
        before = wheel.stat().st_size
        wheel.write_bytes(repacked(wheel))
        print(f"{wheel.name}: {before:,} bytes, now {wheel.stat().st_size:,}")
    return 0


@functools.cache
def _packed(content: bytes) -> bytes:
    """The wheels of a release have most members in common."""
    return bytes(deflate.deflate_compress(content, LEVEL))


def repacked(wheel: Path) -> bytes:
    """The bytes of a zip file with the same members, each as short as it can be had here.

    Args:
        wheel: smaller than 4 GiB, as are its members.
    """
    out = bytearray()
    central = bytearray()
    with zipfile.ZipFile(wheel) as opened:
        members = opened.infolist()
        for entry in members:
            content = opened.read(entry)
            body = _packed(content)
            is_shorter = len(body) < len(content)
            entry.compress_type = zipfile.ZIP_DEFLATED if is_shorter else zipfile.ZIP_STORED
            body = body if is_shorter else content
            entry.compress_size, entry.extra = len(body), b""
            entry.flag_bits &= ~0x8  # sizes stand before the content, not behind it
            entry.header_offset = len(out)
            out += entry.FileHeader(zip64=False) + body
            central += _listed(entry)
    start = len(out)
    out += central
    out += _END.pack(b"PK\5\6", 0, 0, len(members), len(members), len(central), start, 0)
    return bytes(out)


def _listed(entry: zipfile.ZipInfo) -> bytes:
    """A member's line in the list at the end of the file."""
    year, month, day, hour, minute, second = entry.date_time
    name = entry.filename.encode("utf-8" if entry.flag_bits & 0x800 else "ascii")
    fixed = _CENTRAL.pack(
        b"PK\1\2",
        entry.create_version,
        entry.create_system,
        entry.extract_version,
        0,
        entry.flag_bits,
        entry.compress_type,
        hour << 11 | minute << 5 | second // 2,
        (year - 1980) << 9 | month << 5 | day,
        entry.CRC,
        entry.compress_size,
        entry.file_size,
        len(name),
        0,  # nothing extra, no comment, the first disk
        0,
        0,
        entry.internal_attr,
        entry.external_attr,
        entry.header_offset,
    )
    return fixed + name


if __name__ == "__main__":
    sys.exit(main())
