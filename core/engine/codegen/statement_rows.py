"""The statements of a kernel as a table for the kernel that walks them (`statement_walk`).

The writers of statements use a small part of Python, in which all sizes are numbers.
"""

from __future__ import annotations

import ast
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.nests import LOOP, Nest, View, nest_of
from pinnace.engine.codegen.statement_numbers import LOADS, StatementNumbers, numbers_at
from pinnace.engine.codegen.statement_registers import CHANGING, CONSTANT, STEADY, Held, Number
from pinnace.engine.codegen.statement_walk import OPERATION, ROW
from pinnace.engine.codegen.walks import LINE, Walk
from pinnace.framework.parsing import parsed
from pinnace.ops.kernels.addresses import address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinnace.engine.codegen.cluster_programs import Program
    from pinnace.engine.codegen.walks import Argument, Function
    from pinnace.framework.tensor import Array

_NO_FUNCTIONS: Mapping[str, Function] = MappingProxyType({})
# Numbers of a row of which only a part is computed: its size is not known.
_ANY = 1 << 20


def walk_of(function: Function, functions: Mapping[str, Function] = _NO_FUNCTIONS) -> Walk:
    """A kernel's statements as a table.

    Args:
        function: the statements; see `statements` and `iteration`.
        functions: the functions that they call, by these names.

    Raises:
        UnsupportedError: a statement has no row.
    """
    return _Translation(function, functions).walk()


class _Translation(StatementNumbers):
    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        super().__init__(function.arguments)
        self._kept: list[Array] = []
        self._hold(function)
        self._functions = functions
        self._tree = parsed("\n".join(function.lines)).body
        self._changing = _changed(self._tree)
        self._base = self._names["w"]
        # The jumps out of each loop, whose targets are not known yet.
        self._breaks: list[list[list[int]]] = []
        # The loop that `leave` ends: the outermost one of the function that is being translated.
        self._outermost = 0
        self._programs: list[Program] = []
        self._operands: list[Array] = []
        # Sizes in numbers of the statements' scratch memory, and of the scalars after it; registers
        # with an offset in the memory after it.
        self._scratch, self._spare = -(-function.scratch // LINE) * LINE, 0
        self._offsets: list[tuple[int, str, int]] = []

    def walk(self) -> Walk:
        """The table."""
        self._block(self._tree)
        scalars = self._scratch
        registers = scalars + self._spare
        most = max((one.memory for one in self._programs), default=0)
        shift = len(self._ahead)
        rows = [*self._ahead, *self._rows]
        for row in rows:
            if row[0] in (OPERATION["JUMP"], OPERATION["UNLESS"]):
                row[2] += shift
        table = np.zeros((len(rows), ROW), np.int64)
        for place, row in enumerate(rows):
            table[place, : len(row)] = row
        initial = np.zeros(self._registers, np.int64)
        for register, what, count in self._offsets:
            begin = scalars if what == "scalars" else registers
            initial[register] = 4 * (begin + count)
        for (kind, value), register in self._constants.items():
            if kind == "real":
                initial[register] = np.array(value, np.float64).view(np.int64)
            else:
                initial[register] = value
        none = np.zeros((1, 6), np.int64)
        operands = np.concatenate([*self._operands, none]).reshape(-1)
        memory = registers + most
        kept: list[Program | Array] = [*self._programs, *self._kept]
        return Walk(table, initial, operands, kept, self._taken, memory)

    # Statements.

    def _block(self, lines: Sequence[ast.stmt]) -> None:
        for line in lines:
            self._line(line)

    def _line(self, line: ast.stmt) -> None:
        match line:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                number = self._binary(type(op), self._number(target), self._number(value))
                self._put(target, number)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=args)):
                self._call(name, args)
            case ast.Break():
                self._breaks[-1].append(self._jump())
            case ast.Return(value=ast.expr() as value):
                self._emit(CHANGING, "END", self._number(value).register)
            case _:
                self._compound(line)

    def _compound(self, line: ast.stmt) -> None:
        if isinstance(line, ast.Pass):
            return
        if isinstance(line, ast.While):
            self._loop(line)
        elif isinstance(line, ast.If):
            self._if(line)
        elif isinstance(line, ast.For):
            self._for(line)
        else:
            raise UnsupportedError(f"there is no row for the statement {ast.unparse(line)}")

    def _put(self, target: ast.expr, number: Number) -> None:
        """Assign a number to a variable, or to an element of an array."""
        if isinstance(target, ast.Name):
            self._set(target.id, number)
        else:
            self._store(target, number)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), ast.Call() if (found := numbers_at(value)) is not None:
                dtype, address = found
                self._begins[name] = dtype, self._copied(self._number(address))
                return
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                self._parallel(names, values)
                return
            case ast.Name(id=name), ast.Call(func=ast.Name(id=of), args=args) if (
                of in self._functions
            ):
                self._called_function(name, of, args)
                return
            case ast.Name(id=name), ast.Call(
                func=ast.Attribute(attr="zeros"), args=[count, ast.Attribute(attr=dtype)]
            ):
                self._held[name] = self._zeros(int(self._number(count).value), dtype)
                return
        self._put(target, self._number(value))

    def _parallel(self, names: Sequence[ast.expr], values: Sequence[ast.expr]) -> None:
        numbers = [self._copied(self._number(one)) for one in values]
        for name, number in zip(names, numbers, strict=True):
            if not isinstance(name, ast.Name):
                raise UnsupportedError("an assignment of several elements")
            self._set(name.id, number)

    def _copied(self, number: Number) -> Number:
        """A copy of a number that later assignments do not change."""
        if number.register not in self._variables():
            return number
        made = number._replace(register=self._register(), level=CHANGING)
        self._emit(CHANGING, "MOVE", made.register, number.register)
        return made

    def _variables(self) -> set[int]:
        return {self._names[name].register for name in self._changing if name in self._names}

    def _set(self, name: str, number: Number) -> None:
        if name not in self._changing:
            self._names[name] = self._copied(number)
            return
        found = self._names.get(name)
        register = self._register() if found is None else found.register
        if found is not None and found.kind != number.kind:
            raise UnsupportedError(f"{name} changes its kind")
        self._emit(CHANGING, "MOVE", register, number.register)
        self._names[name] = Number(register, CHANGING, number.kind)
        self._forget(register)

    def _forget(self, register: int) -> None:
        """Drop the results that were computed from a variable's former number."""
        gone = {register}
        while True:
            more = {
                made.register
                for key, made in self._found.items()
                if made.register not in gone and not gone.isdisjoint(key[2:])
            }
            if not more:
                break
            gone |= more
        self._found = {key: made for key, made in self._found.items() if made.register not in gone}

    def _store(self, target: ast.expr, number: Number) -> None:
        match target:
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                dtype, address = self._place(name, index)
            case _:
                raise UnsupportedError(f"there is no row for {ast.unparse(target)}")
        kind = LOADS[dtype]
        if dtype.startswith("float"):
            number = self._as_real(number)
        elif number.is_real:
            raise UnsupportedError("a float is stored in an integer array")
        self._emit(CHANGING, f"STORE_{kind}", number.register, address.register)

    def _call(self, name: str, args: Sequence[ast.expr]) -> None:
        if name == "leave":
            self._breaks[self._outermost].append(self._jump())
            return
        if name == "fill":
            address, some, number = (self._number(one) for one in args)
            given = (address, some, self._as_real(number))
            self._emit(CHANGING, "FILL", *(one.register for one in given))
            return
        what = "PRODUCT" if name == "multiply" else name.upper()
        if what not in OPERATION:
            raise UnsupportedError(f"there is no row for {name}")
        self._emit(CHANGING, what, *(self._number(one).register for one in args))

    # Functions, and arrays of their own.

    def _zeros(self, count: int, dtype: str) -> Held:
        """An array of zeros."""
        size = -(-count * np.dtype(dtype).itemsize // 4)
        begin = self._memory(size)
        given = (begin, self._constant(size), self._real_constant(0.0, "float64"))
        self._emit(CHANGING, "FILL", *(one.register for one in given))
        return Held(dtype, begin, (count,))

    def _memory(self, size: int) -> Number:
        """The address of this many float32 numbers."""
        begin = self._behind("scalars", self._spare)
        self._spare += -(-size // LINE) * LINE
        return begin

    def _called_function(self, target: str, name: str, args: Sequence[ast.expr]) -> None:
        """Add the statements of a function, and assign the number that it returns.

        They are inlined at the call, with names of their own, and memory after that of the caller.
        """
        function = self._functions[name]
        *body, end = parsed("\n".join(function.lines)).body
        if not isinstance(end, ast.Return) or end.value is None:
            raise UnsupportedError("a function that returns nothing")
        if any(isinstance(line, ast.Return) for line in _all_of(body)):
            raise UnsupportedError("a function that returns in several places")
        names, held = {"ACROSS": self._names["ACROSS"]}, dict[str, Held]()
        for argument, tree in zip(function.arguments, args, strict=True):
            self._bind(names, held, argument, tree)
        names["w"] = self._memory(function.scratch)
        outer = self._names, self._held, self._begins, self._changing, self._outermost
        self._names, self._held, self._begins, self._changing = names, held, {}, _changed(body)
        self._outermost = len(self._breaks)
        self._hold(function)
        self._block(body)
        number = self._copied(self._number(end.value))
        self._names, self._held, self._begins, self._changing, self._outermost = outer
        self._set(target, number)

    def _hold(self, function: Function) -> None:
        """Hold the constants of a function, by their names."""
        for index, array in enumerate(function.constants):
            begin = self._constant(address_of(array))
            self._held[f"k{index}"] = Held(array.dtype.name, begin, array.shape)
            self._kept.append(array)

    def _bind(
        self, names: dict[str, Number], held: dict[str, Held], argument: Argument, tree: ast.expr
    ) -> None:
        """Bind a parameter of a function in one call: to a number or an array."""
        name, dtype = argument.name, argument.dtype
        match tree:
            case ast.Name(id=given) if given in self._held:
                held[name] = self._held[given]
            case ast.Call(func=ast.Name(id="shaped"), args=[address, ast.Tuple(elts=sizes)]):
                shape = tuple(int(self._number(size).value) for size in sizes)
                begin = self._copied(self._number(address))
                held[name] = Held(str(dtype), begin, shape)
            case ast.Call() if (found := numbers_at(tree)) is not None:
                shape = (int(self._number(tree.args[1]).value),)
                held[name] = Held(str(dtype), self._copied(self._number(found[1])), shape)
            case _ if dtype is None:
                names[name] = self._copied(self._number(tree))
            case _:
                raise UnsupportedError(f"not an array: {ast.unparse(tree)}")

    # Flow.

    def _jump(self, register: int | None = None) -> list[int]:
        """A jump whose target is set later."""
        what = "JUMP" if register is None else "UNLESS"
        row = [OPERATION[what], register or 0, 0]
        self._rows.append(row)
        return row

    def _loop(self, line: ast.While) -> None:
        self._repeated(lambda: self._number(line.test), line.body, None)

    def _repeated(
        self, test: Callable[[], Number], body: Sequence[ast.stmt], counter: str | None
    ) -> None:
        """Add statements that repeat while a condition holds, which is tested before each time.

        Args:
            test: the condition.
            body: the statements.
            counter: the name of a number that is incremented each time.
        """
        self._found.clear()
        begin = len(self._rows)
        self._breaks.append([self._jump(test().register)])
        self._block(body)
        if counter is not None:
            self._set(counter, self._folded("ADD", self._named(counter), self._constant(1)))
        self._jump()[2] = begin
        for row in self._breaks.pop():
            row[2] = len(self._rows)
        self._found.clear()

    def _for(self, line: ast.For) -> None:
        """Add a loop over numbers, or an elementwise loop, which becomes a program."""
        match line:
            case ast.For(iter=ast.Call(func=ast.Name(id=name))) if name == LOOP:
                self._nest(nest_of(line))
                return
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=[*first, end]),
            ) if len(first) < 2:
                pass
            case _:
                raise UnsupportedError(f"there is no row for the statement {ast.unparse(line)}")
        stop = self._copied(self._number(end))
        self._set(name, self._number(first[0]) if first else self._constant(0))
        self._repeated(lambda: self._computed("LESS", (self._named(name), stop)), line.body, name)

    def _if(self, line: ast.If) -> None:
        other = self._jump(self._truth(self._number(line.test)).register)
        before = dict(self._found)
        self._block(line.body)
        ends = None
        if line.orelse:
            ends = self._jump()
            other[2] = len(self._rows)
            self._keep(before)
            self._block(line.orelse)
            ends[2] = len(self._rows)
        else:
            other[2] = len(self._rows)
        self._keep(before)

    def _keep(self, before: Mapping[tuple[object, ...], Number]) -> None:
        """Keep only the results that were computed on both paths."""
        now = self._found
        self._found = {key: made for key, made in before.items() if now.get(key) == made}

    # Elementwise loops.

    def _nest(self, nest: Nest) -> None:
        rows = [self._number(one) for one in nest.rows]
        columns = [self._number(one) for one in nest.columns]
        width, is_flat = self._width(columns, rows)
        program = nest.program(width, is_flat=is_flat)
        offset = sum(one.size for one in self._operands)
        self._programs.append(program)
        self._operands.append(program.operands)
        for place, view in enumerate((*nest.inputs, *nest.outputs)):
            if view.kind == "number" or (view.dtype == "bool" and not view.are_flags):
                self._scalar(view, offset + 6 * place)
            else:
                self._lies(view, offset + 6 * place, rows)
        memory = self._behind("registers")
        self._emit(
            CHANGING,
            "PROGRAM",
            program.sections.ctypes.data,
            len(program.sections),
            program.lines.ctypes.data,
            8 * offset,
            program.block,
            program.some,
            *(one.register for one in (*rows, *columns)),
            memory.register,
        )

    def _width(self, columns: Sequence[Number], rows: Sequence[Number]) -> tuple[int, bool]:
        """Numbers per row, and whether there is only one row, which may be split."""
        first, end = columns
        if first.level == end.level == CONSTANT:
            is_flat = rows[0].level == rows[1].level == CONSTANT and rows[1].value == 1
            return int(end.value - first.value), is_flat
        return _ANY, True  # a part of the only row

    def _operand(self, place: int, number: Number) -> None:
        """Set a number of the table of operands."""
        if number.level != CHANGING:
            key = ("operand", place, number.register)
            if key not in self._steady:
                self._steady[key] = number
                self._emit(STEADY, "OPERAND", number.register, place)
            return
        self._emit(CHANGING, "OPERAND", number.register, place)

    def _lies(self, view: View, place: int, rows: Sequence[Number]) -> None:
        address = self._number(view.address)
        if view.row is None:
            self._operand(place, address)
            return
        step = self._number(view.row)
        size = 1 if view.are_flags else 4
        if view.kind == "column" and (step.level != CONSTANT or step.value != size):
            if view.are_flags or rows[0].level != CONSTANT or rows[1].level != CONSTANT:
                raise UnsupportedError("a column that is not contiguous")
            count = int(rows[1].value)
            target, one = self._behind("scalars", self._spare), self._constant(1)
            self._spare += -(-count // LINE) * LINE
            each = self._folded("FLOOR_DIVIDE", step, self._constant(4))
            given = (address, each, target, one, self._constant(count), one)
            self._emit(CHANGING, "COPY_ROWS", *(number.register for number in given))
            self._operand(place, target)
            return
        self._operand(place, address)
        self._operand(place + 1, step)
        self._operand(place + 2, step)

    def _scalar(self, view: View, place: int) -> None:
        """Make a number in a register an operand of a program."""
        number = self._number(view.address)
        if view.kind == "scalar":
            number = self._loaded("bool", number)
        address = self._behind("scalars", self._spare)
        self._spare += LINE
        self._emit(CHANGING, "STORE_FLOAT32", self._as_real(number).register, address.register)
        self._operand(place, address)

    def _behind(self, what: str, count: int = 0) -> Number:
        """An address in the memory after that of the statements, whose size is not yet known."""
        key = (what, count)
        if key not in self._steady:
            offset = self._register()
            self._offsets.append((offset, what, count))
            self._steady[key] = self._computed("ADD", (self._base, Number(offset, STEADY)))
        return self._steady[key]


def _changed(lines: Sequence[ast.stmt]) -> set[str]:
    """The names that are assigned more than once, or in a loop from their former number."""
    count: dict[str, int] = {}
    for line in _all_of(lines):
        match line:
            case ast.Assign(targets=[ast.Name(id=name)]):
                count[name] = count.get(name, 0) + 1
            case ast.Assign(targets=[ast.Tuple(elts=names)]):
                for one in names:
                    if isinstance(one, ast.Name):
                        count[one.id] = count.get(one.id, 0) + 1
            case ast.AugAssign(target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                count[name] = count.get(name, 0) + 2
    return {name for name, times in count.items() if times > 1}


def _all_of(lines: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, and those within them."""
    for line in lines:
        yield line
        yield from _all_of([*getattr(line, "body", ()), *getattr(line, "orelse", ())])
