"""LLVM code that Numba made for this machine, as code for another system or architecture.

Numba compiles for the machine that it runs on. Its optimised code for vectors of a width that both
have is the same for another architecture, apart from the names of the machine in it and from the
hint of a waiting loop. LLVM's code generators are all in llvmlite.
"""

from __future__ import annotations

import functools
import re
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core import codegen as numbas

# The hint that a thread waits: x86's, and Arm's `yield`.
_X86_PAUSE = "@llvm.x86.sse2.pause()"
_ARM_HINTS = {"call void ": "@llvm.aarch64.hint(i32 1)", "declare void ": "@llvm.aarch64.hint(i32)"}
_MACHINE = re.compile(r'^target (triple|datalayout) = ".*"$', re.MULTILINE)
_OF_A_PROCESSOR = re.compile(r'"(target-cpu|target-features|tune-cpu)"="[^"]*"')


class ForeignError(Exception):
    """Code requires this machine's architecture; the message says what in it does."""


class Target(NamedTuple):
    """The system and the processor that code is for.

    Attributes:
        triple: LLVM's name of the system.
        cpu: LLVM's name of the processor.
        features: LLVM's names, with their signs.
    """

    triple: str
    cpu: str
    features: str

    def machine(self) -> Any:
        """LLVM's target machine, for position-independent code."""
        _initialize()
        return binding.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="default"
        )


@functools.cache
def _initialize() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


@functools.cache
def keep_plain() -> None:
    """Let Numba keep the code of each library as LLVM's passes left it, for `plain`.

    When Numba generates a processor's instructions, LLVM rewrites the code for that processor;
    other libraries must not link the rewritten code.
    """
    libraries: Any = numbas.CPUCodeLibrary
    finalize = libraries._finalize_final_module

    def kept(library: Any) -> None:
        library.pinnace_plain = str(library._final_module)
        finalize(library)
        shared = binding.parse_assembly(library.pinnace_plain)
        for function in shared.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"
        library._shared_module = shared

    libraries._finalize_final_module = kept


def plain(library: Any) -> str:
    """The code of a library that was compiled after `keep_plain`."""
    text: str = library.pinnace_plain
    return text


def retargeted(text: str, target: Target) -> str:
    """LLVM code with the names of another machine in it.

    Raises:
        ForeignError: the code requires this machine's architecture.
    """
    told = {"triple": target.triple, "datalayout": str(target.machine().target_data)}
    text = _MACHINE.sub(lambda found: f'target {found[1]} = "{told[found[1]]}"', text)
    processor = {
        "target-cpu": target.cpu,
        "tune-cpu": target.cpu,
        "target-features": target.features,
    }
    text = _OF_A_PROCESSOR.sub(lambda found: f'"{found[1]}"="{processor[found[1]]}"', text)
    if not target.triple.startswith("x86_64"):
        for before, hint in _ARM_HINTS.items():
            text = text.replace(before + _X86_PAUSE, before + hint)
        strange = sorted(set(re.findall(r"llvm\.x86\.[\w.]+", text)))
        if strange:
            raise ForeignError(f"it calls {', '.join(strange)}")
    return text
