"""Systems that libraries are for: an operating system on an architecture.

A library for another system is made from the code that Numba generates for this machine's
architecture (`codegen.retargeting`), and linked by Zig, which has the C libraries of all these
systems.
"""

from __future__ import annotations

import platform
import sys
from typing import NamedTuple

from pinnace.framework.errors import InvalidArgumentError

X86, ARM = "x86_64", "aarch64"
# Architectures that `platform.machine()` reports under another name.
_MACHINES = {"amd64": X86, "arm64": ARM}


class System(NamedTuple):
    """An operating system on an architecture.

    Attributes:
        name: the name given by the user.
        platform: its `sys.platform`.
        machine: the architecture: `X86` or `ARM`.
        triple: LLVM's name of the system.
        linked_as: Zig's name of it, with the oldest version of the system that libraries run on.
        suffix: the suffix of a library's file.
        options: options of the linker.
        long_bytes: the size of C's `long`, one of the types of NumPy's arrays.
    """

    name: str
    platform: str
    machine: str
    triple: str
    linked_as: str
    suffix: str
    options: tuple[str, ...]
    long_bytes: int


# -Bsymbolic: a kernel's calls within its library cannot be taken over by another library's symbols.
_LINUX = ("-shared", "-Wl,-Bsymbolic", "-Wl,-s")
_SYSTEMS = (
    System(
        "linux-x86_64",
        "linux",
        X86,
        "x86_64-unknown-linux-gnu",
        "x86_64-linux-gnu.2.28",
        ".so",
        _LINUX,
        8,
    ),
    System(
        "linux-aarch64",
        "linux",
        ARM,
        "aarch64-unknown-linux-gnu",
        "aarch64-linux-gnu.2.28",
        ".so",
        _LINUX,
        8,
    ),
    System(
        "macos-arm64",
        "darwin",
        ARM,
        "arm64-apple-macosx11.0.0",
        "aarch64-macos.11.0",
        ".dylib",
        # By default, a library there contains the path where it was linked.
        ("-shared", "-Wl,-s", "-Wl,-install_name,@rpath/pinnace_kernels.dylib"),
        8,
    ),
    System(
        "windows-x86_64",
        "win32",
        X86,
        "x86_64-w64-windows-gnu",
        "x86_64-windows-gnu",
        ".dll",
        ("-shared", "-Wl,-s"),
        4,
    ),
)


def names() -> list[str]:
    """The names of all systems."""
    return [one.name for one in _SYSTEMS]


def named(name: str) -> System:
    """The system with a name.

    Raises:
        InvalidArgumentError: the name is unknown.
    """
    for one in _SYSTEMS:
        if one.name == name:
            return one
    raise InvalidArgumentError(
        f"--system: there is no system {name!r}\n  Try: one of {', '.join(names())}"
    )


def machine() -> str:
    """This machine's architecture, by the same name on all operating systems."""
    told = platform.machine().lower()
    return _MACHINES.get(told, told)


def here() -> System | None:
    """The system of this process; None if no libraries are made for it."""
    for one in _SYSTEMS:
        if (one.platform, one.machine) == (sys.platform, machine()):
            return one
    return None


def description() -> str:
    """This system in words, for messages."""
    return f"{sys.platform} on {machine()}"
