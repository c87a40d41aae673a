"""Sums of many terms as sums of some, one after the other: how register tiles add.

Of a single sum of n terms the rounding errors grow with the root of n. Those of 2048 terms were
three times those of BLAS, and a gradient's over some images thirteen times what they are now.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pinnace.engine.codegen.vectors import VectorWriter, integer

_FLOAT, _I64 = ir.FloatType(), ir.IntType(64)
# Terms that one sum takes; then the next one begins. BLAS cuts them about here, too.
CHAIN = 256


class Rest:
    """What the sums of a tile were where chains ended: in memory, which the cache keeps.

    Args:
        tile: whose sums they are.
        count: vectors of sums.
    """

    def __init__(self, tile: VectorWriter, count: int) -> None:
        self._tile = tile
        with tile.builder.goto_entry_block():
            rooms = [tile.builder.alloca(tile.vector, count) for _ in range(2)]
        for room in rooms:
            room.align = 16  # what the stack has anyway
        self._count = integer(count * tile.lanes)
        self._addresses = [tile.builder.ptrtoint(room, _I64) for room in rooms]
        self._total, self._chain = (self._places(room, count) for room in rooms)

    def _places(self, room: Any, count: int) -> list[Any]:
        builder, lanes = self._tile.builder, self._tile.lanes
        first = builder.bitcast(room, _FLOAT.as_pointer())
        return [builder.gep(first, [integer(i * lanes)]) for i in range(count)]

    def add(self, sums: list[Any], is_more: Any) -> None:
        """Add the sums of a chain to those before it; `is_more` is 0 where there are none."""
        for value, place in zip(sums, self._chain, strict=True):
            self._tile.store(value, place, None)
        # A call: LLVM would hold what it can see in registers, which the products need.
        function = _adding(self._tile.builder.module, self._tile.lanes)
        self._tile.builder.call(function, [*self._addresses, self._count, is_more])

    def added_to(self, sums: list[Any]) -> list[Any]:
        """The sums of all chains, of those of the last one."""
        return [
            self._tile.builder.fadd(self._tile.load(place, None), value)
            for value, place in zip(sums, self._total, strict=True)
        ]


def _adding(module: Any, lanes: int) -> Any:
    """The function of a module that does `Rest.add`."""
    name = f"pinnace_add_chain_{lanes}"
    found = module.globals.get(name)
    if found is None:
        found = ir.Function(module, ir.FunctionType(ir.VoidType(), [_I64] * 4), name)
        found.linkage = "internal"
        found.attributes.add("noinline")
        inside = VectorWriter(ir.IRBuilder(found.append_basic_block("entry")), lanes)
        _write_adding(inside, *found.args)
    return found


def _write_adding(write: VectorWriter, total: Any, chain: Any, count: Any, is_more: Any) -> None:
    builder = write.builder
    to, given = write.number_pointer(total), write.number_pointer(chain)

    def more() -> list[Any]:
        def body(at: Any, mask: Any) -> None:
            place = builder.gep(to, [at])
            sums = write.load(builder.gep(given, [at]), mask)
            write.store(builder.fadd(write.load(place, mask), sums), place, mask)

        write.loop(count, body)
        return []

    def first() -> list[Any]:
        def body(at: Any, mask: Any) -> None:
            write.store(write.load(builder.gep(given, [at]), mask), builder.gep(to, [at]), mask)

        write.loop(count, body)
        return []

    write.either(is_more, 1, more, first)
    builder.ret_void()
