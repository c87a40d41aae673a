"""A process's memory on systems without /proc, as far as another system can test it."""

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pinnace.engine import allocation

MIB = 2**20


@pytest.fixture(autouse=True)
def no_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(allocation, "_STATM", tmp_path / "none")


@pytest.mark.parametrize(("system", "unit"), [("darwin", 1), ("freebsd14", 1024)])
def test_the_largest_size_is_in_bytes_on_macos_and_in_kibibytes_elsewhere(
    monkeypatch: pytest.MonkeyPatch, system: str, unit: int
) -> None:
    usage = SimpleNamespace(ru_maxrss=300 * MIB // unit)
    fake = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda _: usage)
    monkeypatch.setitem(sys.modules, "resource", fake)
    monkeypatch.setattr(allocation.sys, "platform", system)
    assert allocation._held() == 300 * MIB
    assert allocation.resident() == 0


@pytest.mark.parametrize(("answers", "held"), [(1, 300 * MIB), (0, 0)])
def test_windows_says_what_it_promised(
    monkeypatch: pytest.MonkeyPatch, answers: int, held: int
) -> None:
    # Windows' header: two 32-bit numbers, then eight of pointer size.
    size, at = 8 + 8 * ctypes.sizeof(ctypes.c_size_t), 8 + 6 * ctypes.sizeof(ctypes.c_size_t)

    def get_process_memory_info(process: ctypes.c_void_p, counters: object, room: int) -> int:
        assert process.value == ctypes.c_void_p(-1).value
        assert room == size
        target = ctypes.addressof(counters._obj)  # type: ignore[attr-defined]
        assert ctypes.c_uint32.from_address(target).value == size
        if answers:
            ctypes.c_size_t.from_address(target + at).value = held
        return answers

    kernel32 = SimpleNamespace(K32GetProcessMemoryInfo=get_process_memory_info)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel32), raising=False)
    monkeypatch.setitem(sys.modules, "resource", None)  # there is none
    monkeypatch.setattr(allocation.sys, "platform", "win32")
    assert allocation._held() == held
    assert allocation.resident() == 0
