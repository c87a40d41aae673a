"""The state of optimizers of Keras 2: which of its values is for which variable of today's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.optimizers.sgd import SGD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.variable import Variable

_SLOTS = frozenset({"m", "v", "vhat", "momentum", "rms", "mg", "accumulator", "a", "z", "n"})


def taken(optimizer: Any, count: int) -> list[tuple[int, Variable]]:
    """The variables of an optimizer, each with the number of its value among those of a file.

    Keras 2 tells the learning rate in the configuration alone, and keeps a momentum for each
    variable also where it is 0.

    Args:
        optimizer: built.
        count: of the values in the file.

    Raises:
        ValueError: these are not the values of such an optimizer.
    """
    variables = list(optimizer.variables)
    with_rate = len(variables) > 1 and "learning_rate" in variables[1].name
    if with_rate and count != len(variables):
        del variables[1]
    still = isinstance(optimizer, SGD) and not optimizer.momentum
    if count < len(variables) or (count > len(variables) and not still):
        raise ValueError(f"has {len(variables)} variables, the file has {count}")
    return list(enumerate(variables))


def by_variable(names: Sequence[str]) -> list[int]:
    """The numbers of values, put into the order in which those of one variable stand together.

    Until version 2.10 all of one kind do: `…/kernel/m:0`, `…/bias/m:0`, `…/kernel/v:0`.

    Args:
        names: of the values, in the order of the file.
    """
    plain = list(range(len(names)))
    kinds = [name.partition(":")[0].rpartition("/")[2] for name in names[1:]]
    distinct = list(dict.fromkeys(kinds))
    together = [kind for kind in distinct for _ in range(kinds.count(kind))]
    if len(distinct) < 2 or kinds != together or len(set(map(kinds.count, distinct))) != 1:
        return plain
    if not _SLOTS.issuperset(distinct):
        return plain
    each = len(kinds) // len(distinct)
    return [0, *(1 + kind * each + at for at in range(each) for kind in range(len(distinct)))]
