"""The instructions of elementwise programs as LLVM vector functions.

Each operates on rows of a block, or on all rows as one if they are contiguous. Output and input may
be the same memory, since vectors are loaded before they are stored. The last numbers of a row are
one masked vector.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types

from pinnace.engine.codegen.block_programs import OPERATIONS, PAIRS, REDUCTIONS, TOTALS
from pinnace.engine.codegen.intrinsics import generated
from pinnace.engine.codegen.logarithms import LogWriter
from pinnace.engine.codegen.mathematics import EXP_SERIES, LN2, LOG2_E
from pinnace.engine.codegen.vectors import LANES, VectorWriter, integer
from pinnace.ops.kernels import special_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FLOAT, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_NAME, _FETCH = "pinnace_operate", "pinnace_fetch_rows"
# 1.5 * 2**23: adding it rounds to an integer.
_ROUND = 12582912.0
# Vectors per loop iteration: for instructions bound by the cache, and for the others.
_CHEAP, _COSTLY = 4, 2
_IS_COSTLY = frozenset(
    {"EXP", "EXPM1", "TANH", "SIGMOID", "ERF", "ERFC", "LOG", "LOG1P", "EXP_OF_DIFFERENCE"}
    | {"ROOT", "DIVIDE"}
)


class _Writer(LogWriter):
    """Generates vector code of an instruction."""

    def less(self, a: Any, b: Any) -> Any:
        return self.builder.fcmp_ordered("<", a, b)

    def chosen(self, mask: Any, yes: Any, no: Any) -> Any:
        return self.builder.select(mask, yes, no)

    def unless_nan(self, value: Any, x: Any) -> Any:
        """The value, or x if that is NaN."""
        return self.chosen(self.builder.fcmp_unordered("uno", x, x), x, value)

    def limited(self, x: Any, low: float, high: float) -> Any:
        """x clamped to two numbers; NaN becomes the upper one."""
        most, least = self.constant(high), self.constant(low)
        x = self.chosen(self.less(x, most), x, most)
        return self.chosen(self.less(least, x), x, least)

    def larger(self, a: Any, b: Any) -> Any:
        return self.unless_nan(self.chosen(self.less(b, a), a, b), a)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.unless_nan(self.chosen(self.less(a, b), a, b), a)

    def root(self, x: Any) -> Any:
        name = f"llvm.sqrt.v{self.lanes}f32"
        return self.builder.call(self.function(name, self.vector, [self.vector]), [x])

    def size(self, x: Any) -> Any:
        return self._size(x)

    def greater(self, a: Any, b: Any) -> Any:
        return self.chosen(self.less(b, a), self.constant(1), self.constant(0))

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        is_set = self.builder.fcmp_unordered("!=", condition, self.constant(0))
        return self.chosen(is_set, a, b)

    def gate(self, x: Any, a: Any) -> Any:
        zero = self.constant(0)
        return self.chosen(self.less(zero, x), a, zero)

    def power(self, whole: Any) -> Any:
        """Two to the power of int32 numbers from -126 to 127."""
        builder, kind = self.builder, ir.VectorType(_I32, self.lanes)
        shifted = builder.add(whole, ir.Constant(kind, [127] * self.lanes))
        places = ir.Constant(kind, [23] * self.lanes)
        return builder.bitcast(builder.shl(shifted, places), self.vector)

    def exp(self, x: Any) -> Any:
        """Like `mathematics.exp`: within 2 ulp."""
        builder = self.builder
        y, shift = self.limited(x, -104.0, 89.0), self.constant(_ROUND)
        n = builder.fsub(self._fma(y, self.constant(LOG2_E), shift), shift)
        r = y
        for part in LN2:
            r = self._fma(n, self.constant(-part), r)
        q = builder.fmul(self._series(r, EXP_SERIES), r)
        value = builder.fadd(self._fma(q, r, r), self.constant(1))
        kind = ir.VectorType(_I32, self.lanes)
        whole = builder.fptosi(n, kind)
        # In two steps, so that both ends of the range are reached.
        half = builder.ashr(whole, ir.Constant(kind, [1] * self.lanes))
        value = builder.fmul(value, self.power(half))
        value = builder.fmul(value, self.power(builder.sub(whole, half)))
        return self.unless_nan(value, x)

    def expm1(self, x: Any) -> Any:
        """Like `mathematics.expm1`: within 3 ulp."""
        builder, one = self.builder, self.constant(1)
        is_small = builder.fcmp_ordered("<=", self._size(x), self.constant(0.5))
        small = self.chosen(is_small, x, self.constant(0))
        q = one
        for n in range(8, 1, -1):
            part = builder.fmul(small, self.constant(1 / n))
            q = self._fma(part, q, one) if n < 8 else builder.fadd(part, one)
        value = self.chosen(is_small, builder.fmul(small, q), builder.fsub(self.exp(x), one))
        return self.unless_nan(value, x)

    def erf(self, x: Any) -> Any:
        """Like `mathematics.erf`: within 8 ulp, and 1 where that is."""
        builder = self.builder
        square = builder.fmul(x, x)
        p = self._series(square, tuple(special_functions.ERF32_P))
        q = self._series(square, tuple(special_functions.ERF32_Q))
        value = self.limited(builder.fdiv(builder.fmul(x, p), q), -1.0, 1.0)
        is_near = self.less(self._size(x), self.constant(special_functions.ERF32_END))
        return self.unless_nan(self.chosen(is_near, value, self.limited(x, -1.0, 1.0)), x)

    def done(self, name: str, given: Sequence[Any]) -> Any:
        """The result of an instruction on vectors, element by element."""
        found = {pair: both for both, pair in PAIRS.items()}.get(name)
        if found is not None:
            return self._pair(*found, *given)
        builder = self.builder
        one: dict[str, Callable[..., Any]] = {
            "SAME": lambda a: a,
            "NEGATIVE": builder.fneg,
            "ABSOLUTE": self.size,
            "ROOT": self.root,
            "EXP": self.exp,
            "EXPM1": self.expm1,
            "TANH": self.tanh,
            "SIGMOID": self.sigmoid,
            "ERF": self.erf,
            "ERFC": self.erfc,
            "LOG": self.log,
            "LOG1P": self.log1p,
            "ADD": builder.fadd,
            "SUBTRACT": builder.fsub,
            "MULTIPLY": builder.fmul,
            "DIVIDE": builder.fdiv,
            "LARGER": self.larger,
            "SMALLER": self.smaller,
            "GREATER": self.greater,
            "SELECT": self.select,
            "GATE": self.gate,
            "EXP_OF_DIFFERENCE": lambda a, b: self.exp(builder.fsub(a, b)),
        }
        return one[name](*given)

    def _pair(self, first: str, second: str, a: Any, b: Any, c: Any) -> Any:
        """Two operations. A product and a sum are contracted, as LLVM does in the other kernels."""
        builder = self.builder
        if first == "MULTIPLY" and second == "ADD":
            return self._fma(a, b, c)
        if first == "MULTIPLY" and second == "SUBTRACT":
            return self._fma(a, b, builder.fneg(c))
        if first == "MULTIPLY" and second == "REVERSED":
            return self._fma(builder.fneg(a), b, c)
        value = self.done(first, (a, b))
        if second == "REVERSED":
            return builder.fsub(c, value)
        return self.done(second, (value, c))


class _Function:
    """An instruction's function: rows, numbers per row, then address and stride of each operand."""

    def __init__(self, module: Any, name: str, mode: str) -> None:
        kind = ir.FunctionType(ir.VoidType(), [_I64] * 10)
        self.function = ir.Function(module, kind, f"{_NAME}_{name.lower()}_{mode}")
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        # 64-byte registers, as for `mathematics.whole_vectors`.
        set.add(self.function.attributes, '"prefer-vector-width"="512"')
        self._name, self._mode = name, mode
        self._builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._writer = _Writer(self._builder, LANES)
        self._rows, self._count, *rest = self.function.args
        self._begins, self._steps = rest[0::2], rest[1::2]
        self._turn = _COSTLY if name in _IS_COSTLY else _CHEAP

    def write(self) -> Any:
        """Generate the function."""
        if self._name in TOTALS:
            self._write_total()
        else:
            self._write_rows()
        return self.function

    def _blocks(self, *names: str) -> list[Any]:
        return [self.function.append_basic_block(name) for name in names]

    def _counted(self, count: Any, step: int, body: Callable[[Any], None], at: Any = None) -> Any:
        """Run `body(place)` as long as a full step is left; returns where it ends."""
        builder, before = self._builder, self._builder.block
        head, inside, behind = self._blocks("head", "inside", "behind")
        builder.branch(head)
        builder.position_at_end(head)
        place = builder.phi(_I64)
        place.add_incoming(integer(0) if at is None else at, before)
        after = builder.add(place, integer(step))
        builder.cbranch(builder.icmp_signed("<=", after, count), inside, behind)
        builder.position_at_end(inside)
        body(place)
        place.add_incoming(after, builder.block)
        builder.branch(head)
        builder.position_at_end(behind)
        return place

    def _pointers(self, row: Any) -> list[Any]:
        """Pointers to a row of the result and of each operand."""
        builder = self._builder
        count = 1 + len(self._mode)
        places = zip(self._begins[:count], self._steps[:count], strict=True)
        return [
            self._writer.number_pointer(builder.add(begin, builder.mul(row, step)))
            for begin, step in places
        ]

    def _rest(self, at: Any) -> Any:
        """The mask of the remainder of a row."""
        builder = self._builder
        numbers = ir.VectorType(_I32, LANES)
        left = self._writer.spread(builder.trunc(builder.sub(self._count, at), _I32), numbers)
        return builder.icmp_signed("<", ir.Constant(numbers, list(range(LANES))), left)

    def _write_rows(self) -> None:
        builder = self._builder
        reduces = self._name in REDUCTIONS

        def one(row: Any) -> None:
            to, *given = self._pointers(row)
            spread = [
                self._writer.spread(builder.load(at), self._writer.vector) if kind == "s" else None
                for at, kind in zip(given, self._mode, strict=True)
            ]

            def loaded(place: Any, mask: Any) -> list[Any]:
                return [
                    self._writer.load(builder.gep(at, [place]), mask) if fixed is None else fixed
                    for at, fixed in zip(given, spread, strict=True)
                ]

            (self._reduce if reduces else self._map)(to, loaded)

        self._counted(self._rows, 1, one)
        builder.ret_void()

    def _map(self, to: Any, loaded: Callable[[Any, Any], list[Any]]) -> None:
        """Process a row, vector by vector."""
        builder, writer = self._builder, self._writer

        def many(place: Any) -> None:
            places = [builder.add(place, integer(n * LANES)) for n in range(self._turn)]
            given = [loaded(one, None) for one in places]
            for one, operands in zip(places, given, strict=True):
                writer.store(writer.done(self._name, operands), builder.gep(to, [one]), None)

        def single(place: Any) -> None:
            made = writer.done(self._name, loaded(place, None))
            writer.store(made, builder.gep(to, [place]), None)

        at = self._counted(self._count, self._turn * LANES, many)
        at = self._counted(self._count, LANES, single, at)
        with builder.if_then(builder.icmp_signed("<", at, self._count)):
            mask = self._rest(at)
            made = writer.done(self._name, loaded(at, mask))
            writer.store(made, builder.gep(to, [at]), mask)

    def _reduce(self, to: Any, loaded: Callable[[Any, Any], list[Any]]) -> None:
        """Reduce a row to one number, combined with the previous columns' result if there is one.

        It uses four accumulators of vectors.
        """
        builder, writer = self._builder, self._writer
        with builder.goto_entry_block():
            sums = [builder.alloca(writer.vector) for _ in range(_CHEAP)]
        nothing = writer.constant(float("-inf") if self._name == "ROW_LARGEST" else 0.0)
        for one in sums:
            builder.store(nothing, one)

        def add(place: Any, one: Any, mask: Any) -> None:
            a, *others = loaded(place, mask)
            if mask is not None:
                a = builder.select(mask, a, nothing)
            if self._name == "ROW_PRODUCTS":
                made = writer._fma(a, others[0], builder.load(one))
            else:
                made = self._join(builder.load(one), a)
            builder.store(made, one)

        def many(place: Any) -> None:
            for n, one in enumerate(sums):
                add(builder.add(place, integer(n * LANES)), one, None)

        at = self._counted(self._count, _CHEAP * LANES, many)
        at = self._counted(self._count, LANES, lambda place: add(place, sums[0], None), at)
        with builder.if_then(builder.icmp_signed("<", at, self._count)):
            add(at, sums[0], self._rest(at))
        first, *others = [builder.load(one) for one in sums]
        for one in others:
            first = self._join(first, one)
        lanes = LANES
        while lanes > 1:  # halves
            lanes //= 2
            moved = [(lane + lanes) % LANES for lane in range(LANES)]
            order = ir.Constant(ir.VectorType(_I32, LANES), moved)
            nowhere = ir.Constant(writer.vector, ir.Undefined)
            first = self._join(first, builder.shuffle_vector(first, nowhere, order))
        # The operand after the first two says whether a reduction continues.
        with builder.if_else(builder.icmp_signed("!=", self._begins[3], integer(0))) as (yes, no):
            with yes:
                before = writer.spread(builder.load(to), writer.vector)
                joined = builder.extract_element(self._join(before, first), integer(0))
                builder.store(joined, to)
            with no:
                builder.store(builder.extract_element(first, integer(0)), to)

    def _join(self, a: Any, b: Any) -> Any:
        if self._name == "ROW_LARGEST":
            return self._writer.larger(a, b)
        return self._builder.fadd(a, b)

    def _write_total(self) -> None:
        """Add rows to one row, column by column: the accumulators stay in registers."""
        builder, writer = self._builder, self._writer

        def columns(place: Any, many: int, mask: Any) -> None:
            places = [builder.add(place, integer(n * LANES)) for n in range(many)]
            to = writer.number_pointer(self._begins[0])
            held = [builder.gep(to, [one]) for one in places]
            values = [writer.load(one, mask) for one in held]
            before = builder.block
            head, inside, behind = self._blocks("row", "add", "added")
            builder.branch(head)
            builder.position_at_end(head)
            row = builder.phi(_I64)
            row.add_incoming(integer(0), before)
            sums = writer.phis(values, before)
            builder.cbranch(builder.icmp_signed("<", row, self._rows), inside, behind)
            builder.position_at_end(inside)
            _, *given = self._pointers(row)
            made = []
            for one, total in zip(places, sums, strict=True):
                operands = [
                    writer.load(builder.gep(at, [one]), mask)
                    if kind == "v"
                    else writer.spread(builder.load(at), writer.vector)
                    for at, kind in zip(given, self._mode, strict=True)
                ]
                if len(operands) == 2:
                    made.append(writer._fma(operands[0], operands[1], total))
                else:
                    made.append(builder.fadd(total, operands[0]))
            writer.join(sums, made, builder.block)
            row.add_incoming(builder.add(row, integer(1)), builder.block)
            builder.branch(head)
            builder.position_at_end(behind)
            for one, total in zip(held, sums, strict=True):
                writer.store(total, one, mask)

        at = self._counted(self._count, _CHEAP * LANES, lambda place: columns(place, _CHEAP, None))
        at = self._counted(self._count, LANES, lambda place: columns(place, 1, None), at)
        with builder.if_then(builder.icmp_signed("<", at, self._count)):
            columns(at, 1, self._rest(at))
        builder.ret_void()


def _operate(module: Any) -> Any:
    """The function of a module that executes the instruction with a number."""
    function = module.globals.get(_NAME)
    if function is None:
        kind = ir.FunctionType(ir.VoidType(), [_I64] * 11)
        function = ir.Function(module, kind, _NAME)
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        other = function.append_basic_block("other")
        switch = builder.switch(function.args[0], other)
        for number, (name, mode) in enumerate(OPERATIONS):
            block = function.append_basic_block(f"{name.lower()}_{mode}")
            switch.add_case(integer(number), block)
            inside = ir.IRBuilder(block)
            written = _Function(module, name, mode).write()
            inside.call(written, list(function.args[1:]), tail="tail")
            inside.ret_void()
        ir.IRBuilder(other).ret_void()
    return function


@generated(types.void, "what rows count to to_step a a_step b b_step c c_step")
def operate(builder: Any, *given: Any) -> None:
    """Execute instruction `what` on rows, given addresses and strides in bytes.

    For reductions c says whether they continue a previous result.
    """
    builder.call(_operate(builder.module), given)


@generated(types.void, "begin size")
def fetch_rows(builder: Any, *given: Any) -> None:
    """Prefetch bytes from an address into the L2 cache."""
    function = builder.module.globals.get(_FETCH)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [_I64] * 2), _FETCH)
        function.linkage = "internal"
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        writer = VectorWriter(inside, LANES)
        head, fetching, done = (
            function.append_basic_block(name) for name in ("head", "fetching", "done")
        )
        before = inside.block
        inside.branch(head)
        inside.position_at_end(head)
        at = inside.phi(_I64)
        at.add_incoming(integer(0), before)
        inside.cbranch(inside.icmp_signed("<", at, function.args[1]), fetching, done)
        inside.position_at_end(fetching)
        writer.fetch(inside.add(function.args[0], at))
        at.add_incoming(inside.add(at, integer(64)), inside.block)
        inside.branch(head)
        inside.position_at_end(done)
        inside.ret_void()
    builder.call(function, given)
