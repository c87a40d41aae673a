"""StateVariable: what a metric keeps."""

from __future__ import annotations

from typing import Any

from pinnace.framework.variable import Variable


class StateVariable(Variable):
    """A variable whose present value `value` gives with and without a call.

    Keras 3's variables have it as a property, `tf.Variable` as a method, and metrics are written
    in both ways.
    """

    @property
    def value(self) -> StateVariable:
        """The variable itself, which is its present value wherever it is used."""
        return self

    def __call__(self) -> Any:
        """The present value."""
        return self.read_value()
