"""Libraries for other systems: built and read, but not run; refused on systems that do not fit."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from architecture.sources import ROOT
from pinnace.engine.ahead import calling, installing, processors, reading, systems, table, writing
from pinnace.engine.ahead.table import RefusedError
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KERNELS = ("descent", "pieces")
HERE = table.Library("x86-64", sys.platform, systems.machine(), [], "x86-64.so", "", {}, {})

needs_numba = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None or systems.machine() != systems.X86,
    reason="needs Numba, and x86-64",
)


def write(folder: Path, system: systems.System) -> Any:
    """Write a library of `KERNELS` for a system's smallest processor; returns its entries."""
    from pinnace.engine.ahead import sources

    texts = {name: sources.texts()[name] for name in KERNELS}
    (processor,) = writing.chosen(processors.known(system)[:1], system)
    (made,) = writing.write(texts, [processor], folder, int, system)
    assert not made.library.refused
    return made.library


@pytest.mark.slow
@needs_numba
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang")
@pytest.mark.parametrize("name", systems.names())
def test_a_library_for_another_system_offers_its_kernels_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import library_files
    import release

    system = systems.named(name)
    library = write(tmp_path / "library", system)
    assert (library.system, library.machine) == (system.platform, system.machine)
    found = library_files.read(tmp_path / "library" / library.file)
    assert found.system == name
    for symbol in library.kernels.values():
        assert {symbol, f"{symbol}_kernel", f"{symbol}_python"} <= found.offered
    known = release.NEEDED[name.partition("-")[0]]
    assert all(known.fullmatch(one) for one in found.needed), found.needed
    files = {one.name for one in (tmp_path / "library").iterdir()}
    assert files == {library.file, table.FILE}
    if system != systems.here():
        with pytest.raises(RefusedError, match="none is for this processor"):
            reading.fitting([library])
    # The oldest glibc that wheels support.
    content = (tmp_path / "library" / library.file).read_bytes()
    versions = {int(one) for one in re.findall(rb"GLIBC_2\.(\d+)", content)}
    assert max(versions, default=0) <= release.GLIBC


@pytest.mark.slow
@needs_numba
@pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None or shutil.which("wine") is None,
    reason="needs ziglang and Wine",
)
def test_a_kernel_for_windows_runs_under_wine(tmp_path: Path) -> None:
    system = systems.named("windows-x86_64")
    library = write(tmp_path / "library", system)
    program = tmp_path / "entry_point.exe"
    places = [f"-DAT_{name}={place}" for place, name in enumerate(calling.PYTHON)]
    source = ROOT / "tests" / "platforms" / "entry_point.c"
    options = [*places, f"-DPLACES={len(calling.PYTHON)}", "-Wno-everything", "-o", str(program)]
    subprocess.run([*writing.linker(system), *options, str(source)], check=True)
    done = subprocess.run(
        ["wine", program, str(tmp_path / "library" / library.file), library.kernels["descent"]],
        env={**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a kernel takes 5 arguments" in done.stdout
    assert "argument 2 must be float32:1:C:w" in done.stdout


@needs_numba
def test_code_for_another_architecture_has_its_own_names_and_waits_by_its_own_hint() -> None:
    from pinnace.engine.codegen import retargeting

    text = """
target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define void @wait() #0 {
  tail call void @llvm.x86.sse2.pause()
  ret void
}

declare void @llvm.x86.sse2.pause() #1

attributes #0 = { "target-cpu"="x86-64-v2" "target-features"="+sse4.2" }
"""
    system = systems.named("linux-aarch64")
    target = retargeting.Target(system.triple, "generic", "+neon")
    moved = retargeting.retargeted(text, target)
    from llvmlite import binding

    module = binding.parse_assembly(moved)
    module.verify()
    assert module.triple == system.triple
    assembly = target.machine().emit_assembly(module)
    assert "yield" in assembly
    assert "pause" not in assembly
    strange = text.replace("sse2.pause", "avx2.psad.bw")
    with pytest.raises(retargeting.ForeignError, match=r"llvm\.x86\.avx2\.psad\.bw"):
        retargeting.retargeted(strange, target)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"machine": "riscv64"}, "x86-64 needs riscv64"),
        ({"system": "beos"}, f"x86-64 needs beos, and this is {sys.platform}"),
        ({"requires": ["never"]}, "x86-64 needs never"),
    ],
)
def test_a_library_for_another_machine_is_refused_with_its_reason(
    change: Mapping[str, Any], reason: str
) -> None:
    assert reading.fitting([HERE]) is HERE
    with pytest.raises(RefusedError, match=f"none is for this processor: {reason}$"):
        reading.fitting([HERE._replace(**change)])
    assert reading.fitting([HERE._replace(**change), HERE]) is HERE


def test_what_numpy_found_is_what_linux_reports() -> None:
    """Windows' libraries are chosen by these; only levels that both know are compared."""
    if systems.machine() != systems.X86 or sys.platform != "linux":
        pytest.skip("needs Linux on x86-64")
    wanted = {word for words in processors._LEVELS.values() for word in words}
    assert processors._seen_by_numpy() & wanted <= processors._reported() & wanted
    seen, reported = processors._seen_by_numpy(), processors._reported()
    if "abm" in seen:  # NumPy 2.4 checks all features of the levels
        assert seen & wanted == reported & wanted


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("darwin", "arm64", "macos-arm64"),
        ("win32", "AMD64", "windows-x86_64"),
        ("linux", "aarch64", "linux-aarch64"),
        ("darwin", "x86_64", ""),
        ("linux", "riscv64", ""),
    ],
)
def test_the_system_of_a_process(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, expected: str
) -> None:
    monkeypatch.setattr(systems.sys, "platform", system)
    monkeypatch.setattr(systems.platform, "machine", lambda: machine)
    here = systems.here()
    assert (here.name if here else "") == expected
    if expected:
        assert writing.this_system() is here
        return
    with pytest.raises(FailedPreconditionError, match=f"and this is {system} on {machine}"):
        writing.this_system()


def test_a_linker_for_other_systems_is_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    other = systems.named("linux-aarch64" if systems.machine() == systems.X86 else "macos-arm64")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(FailedPreconditionError, match="pip install ziglang"):
        writing.linker(other)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    assert writing.linker(other)[1:] == ["-m", "ziglang", "cc", "-target", other.linked_as]


def test_names_that_are_not_there_are_told() -> None:
    with pytest.raises(InvalidArgumentError, match="Try: one of linux-x86_64, linux-aarch64"):
        systems.named("amiga")
    other = systems.named("macos-arm64")
    host: tuple[str, dict[str, bool]] = ("cpu", {})
    with pytest.raises(
        InvalidArgumentError, match=r"'x86-64-v3' for macos-arm64\n  Try: .*generic"
    ):
        processors.processor("x86-64-v3", host, other)


def test_this_installation_takes_no_library_of_another_system(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["installing", "--system", "windows-x86_64"])
    with pytest.raises(SystemExit):
        installing.main()
    assert "--folder" in capsys.readouterr().err
