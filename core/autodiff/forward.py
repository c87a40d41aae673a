"""ForwardAccumulator: directional derivatives, computed together with the values.

Ops only define backward gradients. The gradient is linear in the output gradient, so the gradient
*of that map* is the forward map: from the tangents of the inputs to those of the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.autodiff.tape import GradientTape, UnconnectedGradients, carries_gradient
from pinnace.framework import structure
from pinnace.framework.context import pop_tape, push_tape, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import dense
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.ops.array import constants
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpCall, OpDef

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ForwardAccumulator:
    """Computes Jacobian-vector products while ops run.

    It costs a few times as much as the ops, for any number of results: with one input and many
    results it is faster than a GradientTape. With a tape inside, it computes Hessian-vector
    products.

    Args:
        primals: a tensor or variable, or a structure of them: where the derivative is taken.
        tangents: the direction, in the structure, shapes and dtypes of `primals`.

    Raises:
        ValueError: a primal is given twice, or structures or shapes differ.
        TypeError: a primal is no tensor.

    Example:
        >>> x = constant(3.0)
        >>> with autodiff.ForwardAccumulator(x, constant(2.0)) as forward:
        ...     y = x * x
        >>> float(forward.jvp(y))
        12.0
    """

    persistent = False

    def __init__(self, primals: Any, tangents: Any) -> None:
        structure.assert_same_structure(primals, tangents)
        # Keyed by id; the tensors are kept alive so that ids are not reused.
        self._tangents: dict[int, tuple[Any, Tensor]] = {}
        self._recording = False
        pairs = zip(structure.flatten(primals), structure.flatten(tangents), strict=True)
        for primal, tangent in pairs:
            self._start(primal, tangent)

    def _start(self, primal: Any, tangent: Any) -> None:
        if not isinstance(primal, (Tensor, Variable)):
            raise TypeError(
                "ForwardAccumulator: primals must be tensors or variables, "
                f"got {type(primal).__name__}: {primal!r}"
            )
        place = _place(primal)
        if id(place) in self._tangents:
            raise ValueError(
                f"ForwardAccumulator: {primal!r} is given twice among the primals\n"
                "  Try: give it once, with the sum of its tangents"
            )
        direction = convert_to_tensor(tangent, primal.dtype)
        if not direction.shape.is_compatible_with(primal.shape):
            raise ValueError(
                f"ForwardAccumulator: the tangent must have the primal's shape "
                f"{primal.shape.text}, got {direction.shape.text}"
            )
        if carries_gradient(primal.dtype):
            self._tangents[id(place)] = (place, direction)

    def __enter__(self) -> Self:
        if self._recording:
            raise ValueError("ForwardAccumulator: this accumulator is recording already")
        self._recording = True
        push_tape(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._recording:
            self._recording = False
            pop_tape(self)

    def jvp(self, primals: Any, unconnected_gradients: str = UnconnectedGradients.NONE) -> Any:
        """The derivatives of computed tensors along the tangents.

        Args:
            primals: a tensor or variable, or a structure of them.
            unconnected_gradients: the result for one that does not depend on the accumulator's
                primals: "none" or "zero".

        Returns:
            The structure of `primals`, each entry of its primal's shape and dtype.

        Raises:
            ValueError: an unknown `unconnected_gradients`.
        """
        wish = getattr(unconnected_gradients, "value", unconnected_gradients)
        if wish not in {UnconnectedGradients.NONE, UnconnectedGradients.ZERO}:
            raise ValueError(
                f"unconnected_gradients must be 'none' or 'zero', got {unconnected_gradients!r}"
            )

        def found(primal: Any) -> Any:
            known = self._tangents.get(id(_place(primal)))
            if known is not None:
                return known[1]
            return None if wish == UnconnectedGradients.NONE else constants.zeros_like(primal)

        return structure.map_structure(found, primals)

    # Called by the dispatch.

    def watches(self, tensor: object) -> bool:
        """Whether there is a tangent for `tensor`."""
        return id(tensor) in self._tangents

    def watch_variable(self, variable: Variable) -> None:
        """Called when a variable is read; only variables among the primals have tangents."""

    def record(
        self, op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: tuple[Tensor, ...]
    ) -> None:
        """Compute the tangents of the outputs."""
        if op.gradient is NOT_DIFFERENTIABLE:
            return
        flat = [one for x in inputs for one in (x if type(x) is tuple else (x,))]

        def pull(seeds: Sequence[Tensor | None]) -> list[Any]:
            found = op.gradient(OpCall(op, inputs, attrs, outputs, self._tangents), *seeds)  # type: ignore[operator]
            gradients: list[Any] = []
            for x, dx in zip(inputs, found, strict=True):
                if type(x) is tuple:
                    gradients.extend([None] * len(x) if dx is None else dx)
                else:
                    gradients.append(dx)
            return gradients

        self._push(flat, outputs, pull)

    def record_call(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable[..., Sequence[Tensor | None]],
    ) -> None:
        """Compute the tangents of the results of a function with a custom gradient."""
        self._push(inputs, outputs, lambda seeds: list(backward(*seeds)))

    def record_customised(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable[..., Sequence[Tensor | None]],
        computed: Sequence[Tensor],
    ) -> None:
        """The tangents of the results of `custom_gradient` are those of the ops inside.

        TensorFlow: the given gradient is for reverse mode only. If the ops inside were not
        recorded, it is the only gradient.
        """
        if any(self.watches(one) for one in computed):
            for one, output in zip(computed, outputs, strict=True):
                if self.watches(one):
                    self._tangents[id(output)] = (output, self._tangents[id(one)][1])
        else:
            self.record_call(inputs, outputs, backward)

    def _push(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
        pull: Callable[[Sequence[Tensor | None]], list[Any]],
    ) -> None:
        """The tangents of outputs from those of inputs; `pull` is the vector-Jacobian product."""
        tangents = [self._tangents.get(id(x)) for x in inputs]
        if all(one is None for one in tangents):
            return
        saved = state.tapes
        # Enclosing accumulators and tapes record the computation of tangents; this one does not.
        state.tapes = saved[: saved.index(self)] if self in saved else ()
        try:
            seeds = [_seed(y) for y in outputs]
            moved = [seed for seed in seeds if seed is not None]
            if not moved:
                return
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(moved)
                gradients = [dense(dx) for dx in pull(seeds)]
            pairs = [
                (dx, tangent[1])
                for dx, tangent in zip(gradients, tangents, strict=True)
                if dx is not None and tangent is not None
            ]
            if not pairs:
                return
            found = tape.gradient([dx for dx, _ in pairs], moved, [t for _, t in pairs])
        finally:
            state.tapes = saved
        directions = iter(found)
        for y, seed in zip(outputs, seeds, strict=True):
            direction = None if seed is None else next(directions)
            if direction is not None:
                self._tangents[id(y)] = (y, dense(direction))


def _seed(y: Tensor) -> Tensor | None:
    if not carries_gradient(y.dtype) or y.dtype.name == "resource":
        return None
    return constants.zeros_like(y) if y.dtype.name == "variant" else constants.ones_like(y)


def _place(primal: Any) -> Any:
    return primal.handle if isinstance(primal, Variable) else primal


__all__ = ["ForwardAccumulator"]
