"""Exponential moving averages of variables, as shadow variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable
from pinnace.ops.array import casting, constants
from pinnace.ops.math import arithmetic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.framework.tensor import Tensor


class ExponentialMovingAverage(Trackable):
    """Exponential moving averages of variables.

    Each `apply` does `shadow = decay * shadow + (1 - decay) * variable`. A checkpoint of this
    object contains the averages, in order of creation.

    Args:
        decay: how much of the old average stays, between 0 and 1; 0.999 looks back about 1,000
            steps.
        num_updates: a count of steps; with it the decay is at most
            `(1 + num_updates) / (10 + num_updates)`, so that early averages follow fast.
        zero_debias: whether shadows begin at 0, and `average` is what that leaves out divided out.
        name: the name that shadows are named after.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._of: dict[int, tuple[Variable, Variable]] = {}
        self._weights: dict[int, Variable] = {}

    @property
    def name(self) -> str:
        """The prefix of the shadow variables' names."""
        return self._name

    def apply(self, var_list: Iterable[Variable] | None = None) -> None:
        """Update the average of each variable; the first call creates it.

        Args:
            var_list: variables of floating dtypes.

        Raises:
            ValueError: no variables were given.
            TypeError: one of another dtype, or something that is no variable.
        """
        if var_list is None:
            raise ValueError(
                "ExponentialMovingAverage.apply: var_list must hold variables, got None\n"
                "  Try: model.trainable_variables"
            )
        for variable in var_list:
            if not isinstance(variable, Variable) or not variable.dtype.is_floating:
                raise TypeError(
                    "ExponentialMovingAverage.apply: var_list must hold floating variables, "
                    f"got {variable!r}"
                )
            self._follow(variable)

    def _follow(self, variable: Variable) -> None:
        if id(variable) not in self._of:
            self._make(variable)
        shadow = self._of[id(variable)][1]
        rest = self._rest(variable)
        shadow.assign_sub((shadow - variable) * rest)
        weight = self._weights.get(id(variable))
        if weight is not None:
            weight.assign_sub((weight - 1) * rest)

    def _make(self, variable: Variable) -> None:
        name = f"{variable.node_name}/{self._name}"
        with init_scope():
            first = variable.read_value()
            start = constants.zeros_like(first) if self._zero_debias else first
            shadow = Variable(start, trainable=False, name=name)
            if self._zero_debias:
                zero = constants.zeros([], variable.dtype)
                weight = Variable(zero, trainable=False, name=f"{name}/weight")
                self._weights[id(variable)] = weight
                self._track(f"weight_{len(self._of)}", weight)
        self._track(f"average_{len(self._of)}", shadow)
        self._of[id(variable)] = (variable, shadow)

    def _rest(self, variable: Variable) -> Tensor:
        # The Python number is converted directly: through float32 it would lose digits.
        decay = self._decay
        if not isinstance(decay, Operands):
            decay = convert_to_tensor(decay, variable.dtype)
        decay = casting.cast(decay, variable.dtype)
        if self._num_updates is not None:
            steps = casting.cast(self._num_updates, variable.dtype)
            decay = arithmetic.minimum(decay, (1 + steps) / (10 + steps))
        return 1 - decay

    def average(self, var: Variable) -> Any:
        """The shadow of a variable; None before the first `apply`.

        Returns:
            The variable that holds the average; with `zero_debias` a tensor.
        """
        found = self._of.get(id(var))
        if found is None:
            return None
        weight = self._weights.get(id(var))
        return found[1] if weight is None else found[1] / weight

    def average_name(self, var: Variable) -> str:
        """The name of a variable's shadow, which may not exist."""
        found = self._of.get(id(var))
        if found is not None:
            return found[1].node_name
        return f"{var.node_name}/{self._name}"

    def variables_to_restore(
        self, moving_avg_variables: Iterable[Variable] | None = None
    ) -> dict[str, Variable]:
        """Saved name -> the variable to restore: averages where they exist.

        Args:
            moving_avg_variables: the variables that have averages; those applied so far if None.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [variable for variable, _ in self._of.values()]
        return {self.average_name(variable): variable for variable in moving_avg_variables}
