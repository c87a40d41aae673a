"""Processors that kernels are compiled for, and whether this machine is one of them.

The levels of x86-64 are those of its psABI. Features have Linux' names on all systems. Linux
reports them, NumPy detects them on Windows, and all of Apple's processors have those that kernels
need. A feature that is not reported is not used.
"""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.ahead import systems
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.engine.ahead.systems import System

NATIVE, GENERIC = "native", "generic"
_CPU_INFO = Path("/proc/cpuinfo")


class Processor(NamedTuple):
    """A processor to compile for.

    Attributes:
        name: the name given by the user.
        cpu: LLVM's name.
        features: LLVM's names, with their signs.
        requires: Linux' names of the required features.
        first: LLVM's name and features of a processor of this machine's architecture, whose code is
            then retargeted; None: the code is compiled for the target directly.
    """

    name: str
    cpu: str
    features: str
    requires: tuple[str, ...]
    first: tuple[str, str] | None = None


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


# NumPy's name -> Linux' name, of the features of the levels above.
_NUMPY_WORDS = {
    "SSE3": "pni",
    "SSSE3": "ssse3",
    "SSE41": "sse4_1",
    "SSE42": "sse4_2",
    "POPCNT": "popcnt",
    "CX16": "cx16",
    "LAHF": "lahf_lm",
    "AVX": "avx",
    "AVX2": "avx2",
    "F16C": "f16c",
    "FMA3": "fma",
    "BMI": "bmi1",
    "BMI2": "bmi2",
    "LZCNT": "abm",
    "MOVBE": "movbe",
    "AVX512F": "avx512f",
    "AVX512BW": "avx512bw",
    "AVX512CD": "avx512cd",
    "AVX512DQ": "avx512dq",
    "AVX512VL": "avx512vl",
}
# Features of every 64-bit Arm processor that runs Python and NumPy: C's calling convention passes
# numbers in these registers.
_ARM_BASE = ("asimd", "fp")
# A level whose vectors have 128 bits, like Arm's.
_SAME_WIDTH = "x86-64-v2"


def known(system: System | None = None) -> list[str]:
    """The names of the processors that can be compiled for.

    Args:
        system: the target system; this one by default.
    """
    system = system or systems.here()
    machine = system.machine if system else systems.machine()
    names = list(_LEVELS) if machine == systems.X86 else []
    names += [GENERIC] if machine == systems.ARM else []
    return names if system and system != systems.here() else [NATIVE, *names]


def family() -> str:
    """The most demanding of the processors above that this machine supports, by name."""
    here = flags()
    fitting = [name for name, words in _LEVELS.items() if here.issuperset(words)]
    return fitting[-1] if systems.machine() == systems.X86 else GENERIC


def processor(
    name: str, host: tuple[str, Mapping[str, bool]], system: System | None = None
) -> Processor:
    """The processor with a name.

    Args:
        name: one of `known()`.
        host: LLVM's name and features of this machine.
        system: the target system; this one by default.

    Raises:
        InvalidArgumentError: the name is unknown.
    """
    if name not in known(system):
        place = system.name if system else systems.description()
        raise InvalidArgumentError(
            f"--processors: there is no processor {name!r} for {place}\n"
            f"  Try: one or more of {', '.join(known(system))}"
        )
    if name == NATIVE:
        return _native(*host)
    if name == GENERIC:
        is_foreign = systems.machine() != systems.ARM
        first = (_SAME_WIDTH, _features(_SAME_WIDTH)) if is_foreign else None
        is_apple = (system or systems.here() or systems.named("linux-aarch64")).platform == "darwin"
        cpu, features = ("apple-m1", "") if is_apple else (GENERIC, "+neon")
        return Processor(name, cpu, features, _ARM_BASE, first)
    return Processor(name, name, _features(name), _LEVELS[name])


def _features(level: str) -> str:
    """A level's features, under LLVM's names."""
    words = {linux: llvm for llvm, linux in _X86_WORDS.items() if llvm not in {"crc32", "evex512"}}
    return ",".join(f"+{words.get(one, one)}" for one in _LEVELS[level]) or "+sse2"


def _native(cpu: str, features: Mapping[str, bool]) -> Processor:
    here = flags()
    words = _X86_WORDS if systems.machine() == systems.X86 else _ARM_WORDS
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
    """The features of this machine, under Linux' names; empty if they are not known."""
    base = frozenset(_ARM_BASE if systems.machine() == systems.ARM else ())
    return base | (_reported() if sys.platform == "linux" else _seen_by_numpy())


def _reported() -> frozenset[str]:
    """The features that Linux reports; empty if they cannot be read."""
    try:
        text = _CPU_INFO.read_text(errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        word, _, rest = line.partition(":")
        if word.strip() in {"flags", "Features"}:
            return frozenset(rest.split())
    return frozenset()


def _seen_by_numpy() -> frozenset[str]:
    """The features of an x86-64 processor that NumPy detects and the system supports.

    Earlier versions of NumPy detect fewer features, which selects a less demanding library.
    """
    try:
        module = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:
        return frozenset()
    seen = getattr(module, "__cpu_features__", {})
    found = {linux for numpy, linux in _NUMPY_WORDS.items() if seen.get(numpy)}
    # NumPy reports AVX only if the system saves its registers, which requires xsave.
    return frozenset(found | ({"xsave"} if "avx" in found else set()))
