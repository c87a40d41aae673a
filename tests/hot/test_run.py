"""The fuzzer finds faults: each test plants one, or damages a kernel."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from hot import memory, tiers
from hot.bounds import Bound, Verdict, bounds_of
from hot.comparing import Comparison
from hot.drawing import MOTIFS, Case, drawn
from hot.kernels import KernelError, Maker
from hot.memory import Lender
from hot.shrinking import smallest, told
from pinnace.engine.codegen import cluster_numbers
from pinnace.graph.text import parse
from pinnace.graph.walk import ordered
from pinnace.ops import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def comparison() -> Iterator[Comparison]:
    """A comparison in all ways."""
    with tiers.everything_is_worth_it():
        yield Comparison(tiers.Compiled(Maker()))


def normal(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_drawn_graphs_do_not_differ(comparison: Comparison) -> None:
    for number in range(60):
        report = comparison.run(drawn(3, number), number)
        assert not report.differences, told(drawn(3, number))


def test_every_kind_of_region_is_drawn(comparison: Comparison) -> None:
    wanted = {"fused", "recurrence", "rectifiednorm", "sharedextremes"}
    wanted |= {"scalar loop", "small plan", "turns"}
    kinds, ran = set(), set()
    for number in range(300):
        case = drawn(3, number)
        kinds.add(case.kind)
        comparison._compiled.run(case.graph, case.inputs)
        ran = {*comparison._compiled.regions}
        if len(kinds) == len(MOTIFS) and ran >= wanted:
            break
    assert len(kinds) == len(MOTIFS)
    assert ran >= wanted


def test_a_number_draws_the_same_graph_each_time() -> None:
    # Names count the functions that were traced, and handles of variables are objects.
    for number in range(40):
        one, other = drawn(1, number), drawn(1, number)
        assert [node.op.name for node in ordered(one.graph)] == [
            node.op.name for node in ordered(other.graph)
        ]
        for array, again in zip(one.inputs, other.inputs, strict=True):
            if array.dtype != object:
                assert (array.tobytes(), array.strides) == (again.tobytes(), again.strides)


def test_every_op_with_a_fused_form_is_drawn() -> None:
    fused = {name for name, op in registry.registered().items() if op.fuse is not None}
    drawn_ = set()
    for number in range(4000):
        for graph in tiers.functions_of(drawn(3, number).graph):
            drawn_ |= {node.op.name for node in graph.nodes}
    assert fused <= drawn_


def test_what_is_read_before_it_is_there_is_found_and_told_in_three_steps(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The sum of a row, while its columns are still being added.
    monkeypatch.setattr(cluster_numbers.Item, "is_there", property(lambda item: item.section))
    graph = parse("""
    f(x: float32[3, 9], y: float32[3, 9]):
      a: float32[3, 9] = Softmax(x)
      b: float32[3, 9] = Square(y)
      c: float32[3, 9] = Tanh(y)
      d: float32[3, 9] = Mul(a, c)
      e: float32[3, 9] = AddV2(d, b)
      return z=e
    """)
    case = Case("pair", graph, [normal(3, 9), normal(3, 9)])

    def differs(one: Case) -> bool:
        return bool(comparison.run(one, 0).differences)

    assert differs(case)
    small = smallest(case, differs)
    steps = [node.op.name for node in ordered(small.graph) if node.inputs]
    assert "Softmax" in steps
    assert len(steps) <= 3


NAMES = ["start", "stop", "width", "x0", "y0"]


def run_kernel(more: Callable[[Any, Any], object] | None = None, rows: int = 3) -> Any:
    """Run a kernel that adds one to its rows and has a fault."""

    def kernel(start: int, stop: int, width: int, x0: Any, y0: Any) -> None:
        y0[start * width : stop * width] = x0[start:stop].reshape(-1) + np.float32(1)
        if more is not None:
            x0.setflags(write=True)
            more(x0, y0)

    maker = Maker()
    x, y = normal(3, 8), np.zeros(24, np.float32)
    maker.guarded(NAMES, "adds one", kernel)(0, rows, 8, x, y)
    np.testing.assert_array_equal(y.reshape(3, 8)[:rows], x[:rows] + 1)
    return y


def test_a_kernel_that_keeps_to_its_arrays_is_let_through() -> None:
    run_kernel()


def test_a_kernel_that_writes_what_it_reads_is_told() -> None:
    def writes(x0: Any, _: Any) -> None:
        x0[0, 0] = 7

    with pytest.raises(KernelError, match="x0: written, and only to be read"):
        run_kernel(writes)


def test_a_kernel_that_writes_before_its_array_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protected page is after or before the array; the rest of its pages is checked."""
    # Its first two arrays are at the end of their pages: no byte before the third one is mapped.
    monkeypatch.setattr(memory._local, "lender", Lender(), raising=False)

    def writes(_: Any, y0: Any) -> None:
        ctypes.memset(y0.ctypes.data - 4, 1, 4)
        ctypes.memset(y0.ctypes.data + y0.nbytes, 1, 0)

    with pytest.raises(KernelError, match="y0: written beyond the array"):
        run_kernel(writes)


@pytest.mark.parametrize("poison", [0xFF, 0xAA])
def test_what_a_kernel_leaves_unwritten_is_poison(poison: int) -> None:
    def kernel(start: int, stop: int, width: int, x0: Any, y0: Any) -> None:
        y0[start * width : (stop - 1) * width] = x0[start : stop - 1].reshape(-1)

    maker = Maker()
    maker.poison = poison
    y = np.zeros(24, np.float32)
    maker.guarded(NAMES, "copies", kernel)(0, 3, 8, normal(3, 8), y)
    assert y[16:].tobytes() == bytes([poison]) * 32


def test_memory_behind_an_array_cannot_be_read() -> None:
    program = (
        "import ctypes, sys; sys.path.insert(0, sys.argv[1])\n"
        "from hot.memory import Lender\n"
        "for _ in range(2): one = Lender().lend((5, 3), 'float32')\n"
        "ctypes.string_at(one.array.ctypes.data, one.array.nbytes)\n"
        "print('inside', flush=True)\n"
        "ctypes.string_at(one.array.ctypes.data, one.array.nbytes + 1)\n"
        "print('beyond', flush=True)\n"
    )
    folder = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, folder], capture_output=True, text=True, check=False
    )
    assert done.stdout == "inside\n"
    assert done.returncode < 0


def test_a_write_around_an_array_is_seen() -> None:
    lender = Lender()
    for _ in range(3):
        lent = lender.lend((3,), np.float32)
        assert lent.is_intact
        lent.block.bytes[len(lent.block.bytes) // 2] ^= 1
        assert not lent.is_intact


def test_bounds_hold_what_is_right_and_nothing_else() -> None:
    graph = parse("""
    f(x: float32[3]):
      a: float32[3] = Exp(x)
      b: float32[3] = Sub(a, 1.0)
      return z=b
    """)
    x = np.array([1.0, 1e-3, np.nan], np.float32)
    (bound,) = bounds_of(graph, [x])
    exact = np.expm1(x.astype(np.float64))
    assert Verdict(exact.astype(np.float32), bound).worst is None
    wrong = exact.copy()
    wrong[0] *= 1 + 1e-6
    assert Verdict(wrong.astype(np.float32), bound).worst == (0,)
    # exp(0.001) is known to an ulp of 1 only, and so is the difference.
    wrong = exact.copy()
    wrong[1] *= 1 + 1e-4
    assert Verdict(wrong.astype(np.float32), bound).worst is None
    wrong[2] = 0.0
    assert Verdict(wrong.astype(np.float32), bound).worst == (2,)


def test_a_zero_has_the_sign_that_it_must_have() -> None:
    bound = Bound.of(np.float32(-0.0))
    assert Verdict(np.float32(-0.0), bound).worst is None
    assert Verdict(np.float32(0.0), bound).worst is not None
