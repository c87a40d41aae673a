"""Reads what shared libraries of Linux, macOS and Windows are for, offer and need.

Only fields that a check of our own libraries reads; none of the systems is needed.

Source:
    System V ABI, chapters 4 and 5 (ELF); Apple's mach-o/loader.h and mach-o/nlist.h; Microsoft's
    "PE Format".
"""

import struct
from pathlib import Path
from typing import NamedTuple

_ELF_MACHINES = {62: "linux-x86_64", 183: "linux-aarch64"}
_MACHO_MACHINES = {0x0100000C: "macos-arm64"}
_PE_MACHINES = {0x8664: "windows-x86_64"}
# Kinds of section headers, of load commands, and of numbered directories.
_ELF_DYNAMIC, _ELF_DYNSYM, _ELF_NEEDED = 6, 11, 1
_SYMTAB, _LOAD_DYLIB, _CODE_SIGNATURE = 0x2, 0xC, 0x1D
_PE_EXPORTS, _PE_IMPORTS = 0, 1


class LibraryFile(NamedTuple):
    """A shared library.

    Attributes:
        system: its system and architecture, as `pinnace.engine.ahead.systems` names them.
        offered: the symbols that a program finds in it.
        needed: the files that it is loaded with.
    """

    system: str
    offered: set[str]
    needed: list[str]


class FormatError(Exception):
    """The file is of no kind that is read here; the message says what it is."""


def read(path: Path) -> LibraryFile:
    """A library's file.

    Raises:
        FormatError: it is none, or is for another system, or lacks what systems ask for.
    """
    data = path.read_bytes()
    readers = {b"\x7fELF": _elf, b"\xcf\xfa\xed\xfe": _macho, b"MZ": _pe}
    for magic, reader in readers.items():
        if data.startswith(magic):
            return reader(data)
    raise FormatError(f"{path.name} begins with {data[:4]!r}, as no shared library does")


def _machine(known: dict[int, str], number: int) -> str:
    if number not in known:
        raise FormatError(f"its machine has the number {number}, and not {known}")
    return known[number]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _elf(data: bytes) -> LibraryFile:
    (machine,) = struct.unpack_from("<H", data, 18)
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * n) for n in range(count)]
    offered, needed = set(), []
    for _, kind, _, _, place, length, link, *_ in sections:
        names = sections[link][4] if link < count else 0
        if kind == _ELF_DYNSYM:
            for entry in range(place, place + length, 24):
                name, _, _, defined_in = struct.unpack_from("<IBBH", data, entry)
                if name and defined_in:
                    offered.add(_text(data, names + name))
        elif kind == _ELF_DYNAMIC:
            for entry in range(place, place + length, 16):
                tag, value = struct.unpack_from("<QQ", data, entry)
                if tag == _ELF_NEEDED:
                    needed.append(_text(data, names + value))
    return LibraryFile(_machine(_ELF_MACHINES, machine), offered, needed)


def _macho(data: bytes) -> LibraryFile:
    machine, _, _, count = struct.unpack_from("<IIII", data, 4)
    offered, needed, is_signed, at = set(), [], False, 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == _SYMTAB:
            place, entries, names, _ = struct.unpack_from("<IIII", data, at + 8)
            for entry in range(place, place + 16 * entries, 16):
                name, flags = struct.unpack_from("<IB", data, entry)
                # External, and defined in a section.
                if flags & 0x0F == 0x0F:
                    offered.add(_text(data, names + name).removeprefix("_"))
        elif kind == _LOAD_DYLIB:
            needed.append(_text(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        is_signed |= kind == _CODE_SIGNATURE
        at += size
    if not is_signed:
        raise FormatError("it has no signature, which Apple's processors ask for")
    return LibraryFile(_machine(_MACHO_MACHINES, machine), offered, needed)


def _pe(data: bytes) -> LibraryFile:
    (head,) = struct.unpack_from("<I", data, 60)
    machine, count = struct.unpack_from("<HH", data, head + 4)
    (optional,) = struct.unpack_from("<H", data, head + 20)
    first = head + 24 + optional
    sections = [struct.unpack_from("<IIII", data, first + 40 * n + 8) for n in range(count)]

    def place(address: int) -> int:
        for size, begin, stored, offset in sections:
            if begin <= address < begin + max(size, stored):
                return address - begin + offset
        raise FormatError(f"no section has the address {address:#x}")

    directories = head + 24 + 112
    exports, imports = (
        struct.unpack_from("<I", data, directories + 8 * n)[0] for n in (_PE_EXPORTS, _PE_IMPORTS)
    )
    offered, needed = set(), []
    if exports:
        at = place(exports)
        (names,) = struct.unpack_from("<I", data, at + 24)
        (listed,) = struct.unpack_from("<I", data, at + 32)
        found = struct.unpack_from(f"<{names}I", data, place(listed)) if names else ()
        offered = {_text(data, place(one)) for one in found}
    at = place(imports) if imports else 0
    while at and (name := struct.unpack_from("<I", data, at + 12)[0]):
        needed.append(_text(data, place(name)))
        at += 20
    return LibraryFile(_machine(_PE_MACHINES, machine), offered, needed)
