"""The leaves, up to 32, that rows may still reach: bits of a word per row, in LLVM vectors.

Each condition that holds rules out the leaves on its negative side: the row reaches the first leaf
that remains once all conditions of a tree are evaluated. There is no branch, and nothing waits for
memory, so evaluating all conditions is cheaper than descending along some.

Importing this module imports Numba.

Source:
    Lucchese et al.: QuickScorer (SIGIR 2015); Lucchese et al.: V-QuickScorer (SIGIR 2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types

from pinnace.engine.codegen.intrinsics import generated
from pinnace.engine.codegen.vectors import LANES, VectorWriter, integer

if TYPE_CHECKING:
    from collections.abc import Callable

_FLOAT, _I1, _I32, _I64 = ir.FloatType(), ir.IntType(1), ir.IntType(32), ir.IntType(64)
_WORDS = ir.VectorType(_I32, LANES)
_WHOLE = 16  # numbers of a register from which two registers are a table of 32
# Vectors of words: as many as fit in registers besides the operands.
_VECTORS = 4 if LANES == _WHOLE else 8
# Rows that are evaluated at once.
ROWS = LANES * _VECTORS
# Leaves of a word.
LEAVES = 32
# Bytes of an operation: the number of its column, its operand, and the leaves that remain.
_OPERATION = 12


def _pointer(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    return builder.inttoptr(builder.add(address, integer(offset)), kind.as_pointer())


def _vector_at(builder: Any, address: Any, index: int, kind: Any) -> Any:
    return builder.load(_pointer(builder, address, 4 * LANES * index, kind), align=4)


@generated(types.void, "block operations comparisons tests words")
def narrow(
    builder: Any, block: Any, operations: Any, comparisons: Any, tests: Any, words: Any
) -> None:
    """Set `words`, int32 [ROWS], to the leaves that remain.

    Args:
        builder: the kernel's builder.
        block: address of [columns, ROWS]: float32 for comparisons, int32 for tests.
        operations: their address. Where one holds, it rules out the leaves whose bits are not set
            in its last part.
        comparisons: number of operations that hold if the number is at least the threshold.
        tests: number of operations after them that hold if a bit is set in both.
        words: address of the result.
    """
    writer = VectorWriter(builder, LANES)
    found = [ir.Constant(_WORDS, [-1] * LANES)] * _VECTORS

    def is_higher(numbers: Any, limits: Any) -> Any:
        return builder.fcmp_ordered(">=", numbers, limits)

    def is_common(bits: Any, wanted: Any) -> Any:
        common = builder.and_(bits, wanted)
        return builder.icmp_signed("!=", common, ir.Constant(_WORDS, [0] * LANES))

    where = block, operations, comparisons
    found = _asked(writer, where, found, (_FLOAT, writer.vector), is_higher)
    size = builder.mul(comparisons, integer(_OPERATION))
    where = block, builder.add(operations, size), tests
    found = _asked(writer, where, found, (_I32, _WORDS), is_common)
    for index, one in enumerate(found):
        pointer = _pointer(builder, words, 4 * LANES * index, _WORDS)
        builder.store(one, pointer, align=4)


def _asked(
    writer: VectorWriter,
    where: tuple[Any, Any, Any],
    words: list[Any],
    kinds: tuple[Any, Any],
    holds: Callable[[Any, Any], Any],
) -> list[Any]:
    """The leaves that remain after some operations.

    Args:
        writer: generates vectors.
        where: addresses of the block and of the operations, and the number of operations.
        words: the leaves that remain before.
        kinds: types of the operand, and of vectors of it.
        holds: the condition, given vectors of the column and of the operand.
    """
    builder, (block, operations, count) = writer.builder, where
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    at = builder.phi(_I64)
    at.add_incoming(integer(0), before)
    found = [builder.phi(_WORDS) for _ in words]
    writer.join(found, words, before)
    builder.cbranch(builder.icmp_signed("<", at, count), body, done)
    builder.position_at_end(body)
    here = builder.add(operations, builder.mul(at, integer(_OPERATION)))
    column, operand, remain = (
        builder.load(_pointer(builder, here, offset, kind))
        for offset, kind in ((0, _I32), (4, kinds[0]), (8, _I32))
    )
    operands, remaining = writer.spread(operand, kinds[1]), writer.spread(remain, _WORDS)
    line = builder.mul(builder.zext(column, _I64), integer(4 * ROWS))
    line = builder.add(block, line)
    for index, one in enumerate(found):
        is_so = holds(_vector_at(builder, line, index, kinds[1]), operands)
        less = builder.select(is_so, builder.and_(one, remaining), one)
        one.add_incoming(less, body)
    at.add_incoming(builder.add(at, integer(1)), body)
    builder.branch(head)
    builder.position_at_end(done)
    return found


@generated(types.void, "words values first found")
def look_up(builder: Any, words: Any, values: Any, first: Any, found: Any) -> None:
    """Set `found`, float32 [ROWS], to the values of the first remaining leaves, if any remain.

    Args:
        builder: the kernel's builder.
        words: address of int32 [ROWS].
        values: address of float32 [LEAVES].
        first: if not 0, set all rows, whether a leaf remains or not.
        found: address of the result.
    """
    write = _look_up_in_registers if LANES == _WHOLE else _look_up_one_by_one
    write(builder, words, values, first, found)


def _look_up_in_registers(builder: Any, words: Any, values: Any, first: Any, found: Any) -> None:
    writer = VectorWriter(builder, LANES)
    count_zeros = writer.function(f"llvm.cttz.v{LANES}i32", _WORDS, [_WORDS, _I1])
    name = "llvm.x86.avx512.vpermi2var.ps.512"
    choose = writer.function(name, writer.vector, [writer.vector, _WORDS, writer.vector])
    low, high = (_vector_at(builder, values, half, writer.vector) for half in (0, 1))
    always = writer.spread(builder.icmp_signed("!=", first, integer(0)), writer.mask)
    for index in range(_VECTORS):
        word = _vector_at(builder, words, index, _WORDS)
        # Without a leaf this is 32, of which the instruction uses the last five bits.
        leaf = builder.call(count_zeros, [word, ir.Constant(_I1, 0)])
        value = builder.call(choose, [low, leaf, high])
        remains = builder.icmp_signed("!=", word, ir.Constant(_WORDS, [0] * LANES))
        before = _vector_at(builder, found, index, writer.vector)
        value = builder.select(builder.or_(always, remains), value, before)
        pointer = _pointer(builder, found, 4 * LANES * index, writer.vector)
        builder.store(value, pointer, align=4)


def _look_up_one_by_one(builder: Any, words: Any, values: Any, first: Any, found: Any) -> None:
    writer = VectorWriter(builder, LANES)
    count_zeros = writer.function("llvm.cttz.i32", _I32, [_I32, _I1])
    always = builder.icmp_signed("!=", first, integer(0))
    before = builder.block
    body, done = (builder.append_basic_block(name) for name in ("body", "done"))
    builder.branch(body)
    builder.position_at_end(body)
    at = builder.phi(_I64)
    at.add_incoming(integer(0), before)

    def place(address: Any, index: Any, kind: Any) -> Any:
        address = builder.add(address, builder.mul(index, integer(4)))
        return builder.inttoptr(address, kind.as_pointer())

    word = builder.load(place(words, at, _I32))
    leaf = builder.call(count_zeros, [word, ir.Constant(_I1, 0)])
    leaf = builder.zext(builder.and_(leaf, ir.Constant(_I32, LEAVES - 1)), _I64)
    value = builder.load(place(values, leaf, _FLOAT))
    remains = builder.icmp_signed("!=", word, ir.Constant(_I32, 0))
    pointer = place(found, at, _FLOAT)
    value = builder.select(builder.or_(always, remains), value, builder.load(pointer))
    builder.store(value, pointer)
    following = builder.add(at, integer(1))
    at.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, integer(ROWS)), body, done)
    builder.position_at_end(done)
