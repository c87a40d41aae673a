"""Processors that kernels are compiled for, and whether this machine is one of them.

The levels of x86-64 are those of its psABI. Linux reports a machine's features, under its own
names; a feature without a name there is not used.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

NATIVE = "native"
_CPU_INFO = Path("/proc/cpuinfo")
_X86, _ARM = ("x86_64",), ("aarch64", "arm64")


class Processor(NamedTuple):
    """What to compile for.

    Attributes:
        name: as given by the user.
        cpu: LLVM's name.
        features: LLVM's names, with their signs.
        requires: Linux' names of the required features.
    """

    name: str
    cpu: str
    features: str
    requires: tuple[str, ...]


# LLVM's name -> Linux' name, for those that differ.
_X86_WORDS = {
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "rdrnd": "rdrand",
    "prfchw": "3dnowprefetch",
    "sahf": "lahf_lm",
    "sha": "sha_ni",
    "64bit": "lm",
    "crc32": "sse4_2",
    "evex512": "avx512f",
    "avxvnni": "avx_vnni",
    "avxifma": "avx_ifma",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "avx512vp2intersect": "avx512_vp2intersect",
}
_ARM_WORDS = {
    "neon": "asimd",
    "fp-armv8": "fp",
    "crc": "crc32",
    "lse": "atomics",
    "rdm": "asimdrdm",
    "dotprod": "asimddp",
    "fullfp16": "asimdhp",
    "rcpc": "lrcpc",
}
_LEVEL_2 = ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
_LEVEL_3 = (*_LEVEL_2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave")
_LEVEL_4 = (*_LEVEL_3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_LEVELS = {
    "x86-64": (),
    "x86-64-v2": _LEVEL_2,
    "x86-64-v3": _LEVEL_3,
    "x86-64-v4": _LEVEL_4,
}


def known() -> list[str]:
    """The processor names that can be compiled for on this architecture."""
    machine = platform.machine().lower()
    return [NATIVE, *(_LEVELS if machine in _X86 else ("generic",) if machine in _ARM else ())]


def family() -> str:
    """The most demanding of the processors above that this machine supports, by name."""
    here = flags()
    fitting = [name for name, words in _LEVELS.items() if here.issuperset(words)]
    return fitting[-1] if platform.machine().lower() in _X86 else "generic"


def processor(name: str, host: tuple[str, Mapping[str, bool]]) -> Processor:
    """The processor with a name.

    Args:
        name: one of `known()`.
        host: LLVM's name and features of this machine.

    Raises:
        InvalidArgumentError: the name is unknown.
    """
    if name not in known():
        raise InvalidArgumentError(
            f"--processors: there is no processor {name!r} on {platform.machine()}\n"
            f"  Try: one or more of {', '.join(known())}"
        )
    if name == NATIVE:
        return _native(*host)
    if name == "generic":
        return Processor(name, "generic", "+neon", ("asimd", "fp"))
    words = {linux: llvm for llvm, linux in _X86_WORDS.items() if llvm not in {"crc32", "evex512"}}
    features = ",".join(f"+{words.get(one, one)}" for one in _LEVELS[name])
    return Processor(name, name, features or "+sse2", _LEVELS[name])


def _native(cpu: str, features: Mapping[str, bool]) -> Processor:
    here = flags()
    words = _X86_WORDS if platform.machine().lower() in _X86 else _ARM_WORDS
    signs, required = [], set()
    for feature, is_there in sorted(features.items()):
        word = words.get(feature, feature)
        is_used = is_there and word in here
        signs.append(f"{'+' if is_used else '-'}{feature}")
        if is_used:
            required.add(word)
    return Processor(NATIVE, cpu, ",".join(signs), tuple(sorted(required)))


@functools.cache
def flags() -> frozenset[str]:
    """The features of this machine, as Linux names them; empty if they are not reported."""
    try:
        text = _CPU_INFO.read_text(errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        word, _, rest = line.partition(":")
        if word.strip() in {"flags", "Features"}:
            return frozenset(rest.split())
    return frozenset()
