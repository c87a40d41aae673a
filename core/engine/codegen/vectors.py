"""LLVM vectors of float32, and the operations on them.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import binding, ir
from numba.core import config

if TYPE_CHECKING:
    from collections.abc import Callable

_FLOAT, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
# Bits of a tile's mode: add to what c holds; when the sums are complete, add another operand; whole
# vectors of b may be read, also behind the last column. `activations` has the bits of the epilogue.
ACCUMULATE, ADD, PACKED = 1, 2, 512


def _features() -> set[str]:
    """The features of the processor that Numba compiles for."""
    told = config.CPU_FEATURES  # type: ignore[attr-defined] # its stubs lack it
    if told is not None:
        return {one[1:] for one in told.split(",") if one.startswith("+")}
    return {name for name, is_there in binding.get_host_cpu_features().items() if is_there}


def _registers() -> tuple[int, int, int]:
    """(numbers per vector, rows per tile, vectors per row) for the local processor."""
    features = _features()
    if "avx512f" in features:
        return 16, 14, 2
    if "avx2" in features:
        return 8, 6, 2
    return 4, 6, 2


LANES, ROWS, VECTORS = _registers()


def integer(value: int) -> Any:
    """A constant of 64 bits."""
    return ir.Constant(_I64, value)


class VectorWriter:
    """Generates instructions on vectors of `lanes` numbers."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder = builder
        self.lanes = lanes
        self.vector = ir.VectorType(_FLOAT, lanes)
        self.mask = ir.VectorType(ir.IntType(1), lanes)

    def function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """A function of this module, declared if necessary."""
        module = self.builder.module
        found = module.globals.get(name)
        return found or ir.Function(module, ir.FunctionType(result, arguments), name)

    def number_pointer(self, address: Any) -> Any:
        """An address as a pointer to numbers."""
        return self.builder.inttoptr(address, _FLOAT.as_pointer())

    def spread(self, scalar: Any, kind: Any) -> Any:
        """A vector with the scalar in all lanes."""
        one = self.builder.insert_element(
            ir.Constant(kind, ir.Undefined), scalar, ir.Constant(_I32, 0)
        )
        zeros = ir.Constant(ir.VectorType(_I32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)

    def load(self, pointer: Any, mask: Any) -> Any:
        """The vector at a pointer, with zeros where the mask is not set; None for no mask."""
        kind = self.vector.as_pointer()
        if mask is None:
            return self.builder.load(self.builder.bitcast(pointer, kind), align=4)
        load = self.function(
            f"llvm.masked.load.v{self.lanes}f32.p0",
            self.vector,
            [kind, _I32, self.mask, self.vector],
        )
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        at = self.builder.bitcast(pointer, kind)
        return self.builder.call(load, [at, ir.Constant(_I32, 4), mask, zero])

    def store(self, value: Any, pointer: Any, mask: Any) -> None:
        """Store a vector where the mask is set; None for no mask."""
        kind = self.vector.as_pointer()
        if mask is None:
            self.builder.store(value, self.builder.bitcast(pointer, kind), align=4)
            return
        store = self.function(
            f"llvm.masked.store.v{self.lanes}f32.p0",
            ir.VoidType(),
            [self.vector, kind, _I32, self.mask],
        )
        at = self.builder.bitcast(pointer, kind)
        self.builder.call(store, [value, at, ir.Constant(_I32, 4), mask])

    def fetch(self, address: Any) -> None:
        """Prefetch an address into the L2 cache."""
        pointer = self.builder.inttoptr(address, ir.IntType(8).as_pointer())
        fetch = self.function("llvm.prefetch.p0", ir.VoidType(), [pointer.type, _I32, _I32, _I32])
        reading, second_level, data = 0, 2, 1
        given = [ir.Constant(_I32, number) for number in (reading, second_level, data)]
        self.builder.call(fetch, [pointer, *given])

    def phis(self, values: list[Any], block: Any) -> list[Any]:
        """Phi nodes with these values from this block."""
        made = [self.builder.phi(self.vector) for _ in values]
        self.join(made, values, block)
        return made

    @staticmethod
    def join(phis: list[Any], values: list[Any], block: Any) -> None:
        """Add these values from this block to the phi nodes."""
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, block)

    def has(self, mode: Any, bit: int) -> Any:
        """Whether a bit of the mode is set."""
        builder = self.builder
        return builder.icmp_signed("!=", builder.and_(mode, integer(bit)), integer(0))

    def either(self, mode: Any, bit: int, yes: Any, no: Any) -> list[Any]:
        """The result of `yes` or `no`, as the bit of the mode selects."""
        builder = self.builder
        first, second, joined = (
            builder.append_basic_block(name) for name in ("yes", "no", "joined")
        )
        builder.cbranch(self.has(mode, bit), first, second)
        builder.position_at_end(first)
        values = yes()
        first = builder.block  # another block, if the code has branches
        builder.branch(joined)
        builder.position_at_end(second)
        others = no()
        second = builder.block
        builder.branch(joined)
        builder.position_at_end(joined)
        phis = self.phis(values, first)
        self.join(phis, others, second)
        return phis

    def loop(self, count: Any, body: Callable[[Any, Any], None]) -> None:
        """Run `body(offset, mask)` for every vector of `count` channels; None is no mask."""
        builder = self.builder
        before = builder.block
        head, whole, rest, cut, done = (
            builder.append_basic_block(name) for name in ("head", "whole", "rest", "cut", "done")
        )
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(_I64)
        at.add_incoming(integer(0), before)
        after = builder.add(at, integer(self.lanes))
        builder.cbranch(builder.icmp_signed("<=", after, count), whole, rest)
        builder.position_at_end(whole)
        body(at, None)
        at.add_incoming(after, builder.block)
        builder.branch(head)
        builder.position_at_end(rest)
        builder.cbranch(builder.icmp_signed("<", at, count), cut, done)
        builder.position_at_end(cut)
        numbers = ir.VectorType(_I32, self.lanes)
        left = builder.trunc(builder.sub(count, at), _I32)
        places = ir.Constant(numbers, list(range(self.lanes)))
        body(at, builder.icmp_signed("<", places, self.spread(left, numbers)))
        builder.branch(done)
        builder.position_at_end(done)
