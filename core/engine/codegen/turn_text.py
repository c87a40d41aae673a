"""The frame of a loop's kernel: what it takes, its numbers out of tables and back, and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.loops import SCALARS
from pinnace.engine.codegen.statements import HEADER, array_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.codegen.turn import Turn
    from pinnace.graph.graph import Value


def kernel_text(turn: Turn, fixed: Sequence[Value], *parts: Sequence[str]) -> str:
    """`kernel(most, …)`: the loop for so many turns at most; it gives how many it took.

    Args:
        turn: what the kernel is given.
        fixed: what is the same in each turn.
        *parts: the statements.
    """
    arguments = _arguments(turn, fixed)
    names = ", ".join(name for name, _ in arguments)
    kinds = ", ".join(kind for _, kind in arguments)
    lines = "".join(f"    {line}\n" for part in parts for line in part)
    return (
        f"{HEADER}@njit([int64(int64, {kinds})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
        f"def kernel(most, {names}):\n{lines}"
    )


def _arguments(turn: Turn, fixed: Sequence[Value]) -> list[tuple[str, str]]:
    """Names and kinds of what the kernel takes, after how many turns at most."""
    found = [("n", "TABLE"), ("q", "TABLE"), ("f", "REALS"), ("lengths", "TABLE")]
    found += [(f"k{index}", "READ") for index in range(len(turn.constants))]
    found += [
        (f"x{place}", array_type(turn.sizes[fixed[place]], "float32", True))
        for place in turn.fixed_arrays
    ]
    found += [
        (f"c{place}", array_type(turn.shapes[place], "float32", True)) for place in turn.carried
    ]
    found += [(f"y{place}", "WRITTEN") for place in turn.carried]
    for prefix, places in (("l", turn.lists.read), ("u", turn.lists.pushed)):
        found += [
            (f"{prefix}{place}", turn.lists.array_type(place, readonly=prefix == "l"))
            for place in places
        ]
    for place in turn.lists.changed:
        found += [
            (f"u{place}", turn.lists.array_type(place, readonly=False)),
            (f"g{place}", "BYTES"),
        ]
    return found


def loaded(turn: Turn, fixed: Sequence[Value], inputs: Sequence[Value]) -> list[str]:
    """The numbers of the kernel's tables in variables of their own."""
    lines = []
    for prefix, table, sources in (("i", "q", turn.integers), ("f", "f", turn.reals)):
        for index, (loop, number) in enumerate(sources):
            value = inputs[number] if loop else fixed[number]
            name = f"{'r' if prefix == 'f' else 'i'}{index}"
            lines.append(f"{name} = {SCALARS[value.dtype.name]}({table}[{index}])")
    return lines


def stored(turn: Turn) -> list[str]:
    """And back into the tables, after the last turn."""
    lines = []
    for name, table, sources in (("i", "q", turn.integers), ("r", "f", turn.reals)):
        lines += [
            f"{table}[{index}] = {name}{index}" for index, (loop, _) in enumerate(sources) if loop
        ]
    return lines
