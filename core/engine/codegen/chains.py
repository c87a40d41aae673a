"""Long sums as several shorter ones: the accumulation order of register tiles.

The rounding error of a single sum of n terms grows with the square root of n. For 2048 terms it was
three times that of BLAS, and for a gradient over several images thirteen times the present error.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from pinnace.engine.codegen.vectors import VectorWriter, integer

_FLOAT, _I64 = ir.FloatType(), ir.IntType(64)
# Terms of one chain. BLAS uses blocks of about this length too.
CHAIN = 256


class Rest:
    """The sums of a tile's previous chains, in cached memory.

    Args:
        tile: the tile they belong to.
        count: number of vectors.
    """

    def __init__(self, tile: VectorWriter, count: int) -> None:
        self._tile = tile
        with tile.builder.goto_entry_block():
            rooms = [tile.builder.alloca(tile.vector, count) for _ in range(2)]
        for room in rooms:
            room.align = 16  # the alignment of the stack
        self._count = integer(count * tile.lanes)
        self._addresses = [tile.builder.ptrtoint(room, _I64) for room in rooms]
        self._total, self._chain = (self._places(room, count) for room in rooms)

    def _places(self, room: Any, count: int) -> list[Any]:
        builder, lanes = self._tile.builder, self._tile.lanes
        first = builder.bitcast(room, _FLOAT.as_pointer())
        return [builder.gep(first, [integer(i * lanes)]) for i in range(count)]

    def add(self, sums: list[Any], is_more: Any) -> None:
        """Add the sums of a chain to the previous ones; `is_more` is 0 if there are none."""
        for value, place in zip(sums, self._chain, strict=True):
            self._tile.store(value, place, None)
        # A call: inlined, LLVM would keep the loaded values in registers that the products need.
        function = _adding(self._tile.builder.module, self._tile.lanes)
        self._tile.builder.call(function, [*self._addresses, self._count, is_more])

    def added_to(self, sums: list[Any]) -> list[Any]:
        """The total sums, given those of the last chain."""
        return [
            self._tile.builder.fadd(self._tile.load(place, None), value)
            for value, place in zip(sums, self._total, strict=True)
        ]


def _adding(module: Any, lanes: int) -> Any:
    """The function of a module for `Rest.add`."""
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
