"""GradientTape: records ops on watched tensors, and differentiates them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace import late
from pinnace.autodiff.backward import Entry, Gradients, accumulate
from pinnace.framework import structure
from pinnace.framework.composite import CompositeTensor, gradient_part
from pinnace.framework.context import pop_tape, push_tape, state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtype_sets import numpy_dtypes
from pinnace.framework.dtypes import COMPLEX, FLOATS, DType
from pinnace.framework.logger import get_logger
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Operands, Tensor, wrap
from pinnace.framework.variable import Variable
from pinnace.ops.array import constants
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_FLOATING = numpy_dtypes(FLOATS | COMPLEX)


class UnconnectedGradients:
    """The result of `gradient` for a source that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records ops on watched tensors so that their derivatives can be computed.

    Trainable variables are watched when they are read; other tensors by `watch`.

    Args:
        persistent: whether `gradient` may be called more than once.
        watch_accessed_variables: whether reading a trainable variable watches it.

    Example:
        >>> x = constant(3.0)
        >>> with GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> float(tape.gradient(y, x))
        6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_variables = watch_accessed_variables
        self._entries: list[Entry] = []
        # Keeping the tensors alive prevents their ids from being reused.
        self._watched: dict[int, Tensor] = {}
        self._variables: dict[int, Variable] = {}
        self._recording = False
        self._used = False

    def __enter__(self) -> Self:
        if self._recording:
            raise ValueError("GradientTape: this tape is recording already")
        self._recording = True
        push_tape(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._recording:
            self._recording = False
            pop_tape(self)

    # Called by the dispatch.

    def record(
        self, op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], outputs: tuple[Tensor, ...]
    ) -> None:
        """Record the op if one of its inputs is watched."""
        watched = self._watched
        for x in inputs:
            if type(x) is tuple:
                if any(id(one) in watched for one in x):
                    break
            elif id(x) in watched:
                break
        else:
            return
        if op.gradient is NOT_DIFFERENTIABLE:
            return
        for y in outputs:
            if type(y) is Tensor:
                if y._array.dtype in _FLOATING:
                    watched[id(y)] = y
            elif carries_gradient(y.dtype):
                watched[id(y)] = y
        self._entries.append((op, inputs, attrs, outputs, None))

    def record_call(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable[..., Sequence[Tensor | None]],
    ) -> None:
        """Record a function with a custom gradient."""
        if not any(id(x) in self._watched for x in inputs):
            return
        for y in outputs:
            if carries_gradient(y.dtype):
                self._watched[id(y)] = y
        self._entries.append((None, inputs, {}, outputs, backward))

    def record_customised(
        self,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        backward: Callable[..., Sequence[Tensor | None]],
        computed: Sequence[Tensor],
    ) -> None:
        """Record a `custom_gradient`: its gradient replaces those of the ops inside."""
        del computed
        self.record_call(inputs, outputs, backward)

    def watch_variable(self, variable: Variable) -> None:
        """A variable was read."""
        if id(variable) in self._variables:
            return
        if self._watch_variables and variable.is_watched and carries_gradient(variable.dtype):
            self._watched[id(variable.handle)] = variable.handle
            self._variables[id(variable)] = variable

    @property
    def persistent(self) -> bool:
        """Whether `gradient` may be called more than once."""
        return self._persistent

    def watches(self, tensor: object) -> bool:
        """Whether ops on `tensor` are recorded."""
        return id(tensor) in self._watched

    # Public methods.

    def watch(self, tensor: Any) -> None:
        """Record ops on `tensor` (or on each tensor of a structure) from now on.

        Raises:
            ValueError: something that is no tensor, or one of an integer dtype.
        """
        for item in map(gradient_part, structure.flatten(tensor)):
            if isinstance(item, Variable):
                self._watched[id(item.handle)] = item.handle
                self._variables[id(item)] = item
                continue
            if not isinstance(item, Tensor):
                raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                    "GradientTape.watch: only tensors and variables can be watched, "
                    f"got {type(item).__name__}: {item!r}"
                )
            if not carries_gradient(item.dtype):
                get_logger().warning(
                    "GradientTape.watch: only floating-point and complex tensors have gradients, "
                    "got %s: its gradient is None",
                    item.dtype.name,
                )
                continue
            self._watched[id(item)] = item

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that were read or watched, in that order."""
        return tuple(self._variables.values())

    def reset(self) -> None:
        """Forget all records, as if the block began here."""
        self._entries = []
        self._watched = {}
        self._variables = {}

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Suspend recording inside the block."""
        if not self._recording:
            raise ValueError("GradientTape.stop_recording: the tape is not recording")
        saved = state.tapes
        state.tapes = tuple(tape for tape in saved if tape is not self)
        try:
            yield
        finally:
            state.tapes = saved

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = UnconnectedGradients.NONE,
    ) -> Any:
        """d target / d sources; several targets are added.

        Args:
            target: a tensor, or a structure of tensors.
            sources: a tensor or variable that was watched, or a structure of them.
            output_gradients: factors of each target's gradient; ones if None. Structure of
                `target`.
            unconnected_gradients: the result where the target does not depend on the source: "none"
                or "zero".

        Returns:
            The structure of `sources`, each entry of its source's shape and dtype.

        Raises:
            RuntimeError: a second call, and the tape is not persistent.
            ValueError: an unknown `unconnected_gradients`.
        """
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient: a tape gives its gradients once.\n"
                "  Try: GradientTape(persistent=True)"
            )
        wish = getattr(unconnected_gradients, "value", unconnected_gradients)
        if wish not in {UnconnectedGradients.NONE, UnconnectedGradients.ZERO}:
            raise ValueError(
                f"unconnected_gradients must be 'none' or 'zero', got {unconnected_gradients!r}"
            )
        self._used = True
        if self._recording and not self._persistent:
            self._recording = False
            pop_tape(self)
        targets = (
            [target]
            if type(target) is Tensor
            else [_target_tensor(gradient_part(item)) for item in structure.flatten(target)]
        )
        flat_sources = structure.flatten(sources)
        handles = [_source_tensor(gradient_part(item)) for item in flat_sources]
        seeds = (
            [None] * len(targets)
            if output_gradients is None
            else list(map(gradient_part, structure.flatten(output_gradients)))
        )
        results = self._differentiate(targets, handles, seeds)
        if wish == UnconnectedGradients.ZERO:
            results = [
                constants.zeros_like(gradient_part(source)) if found is None else found
                for found, source in zip(results, flat_sources, strict=True)
            ]
        results = [
            source.with_gradient_part(found)
            if isinstance(source, CompositeTensor) and found is not None
            else found
            for found, source in zip(results, flat_sources, strict=True)
        ]
        if not self._persistent:
            self._entries = []
            self._watched = {}
        return structure.pack_sequence_as(sources, results)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """d target / d sources, element by element of the target.

        Args:
            target: a tensor.
            sources: a tensor or variable that was watched, or a structure of them.
            unconnected_gradients: the result where the target does not depend on the source: "none"
                or "zero".
            parallel_iterations: accepted for TensorFlow's sake.
            experimental_use_pfor: accepted for TensorFlow's sake.

        Returns:
            [*target, *source] for each source, in their structure.
        """
        why = "rows are computed together where that is possible"
        ignored("GradientTape.jacobian", why, parallel_iterations=parallel_iterations)
        ignored("GradientTape.jacobian", why, True, experimental_use_pfor=experimental_use_pfor)
        self._require_persistent(experimental_use_pfor)
        return self._jacobian(late.jacobian, target, sources, unconnected_gradients)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """d target[i] / d source[i], for every row i.

        Args:
            target: [batch, ...].
            source: [batch, ...], a tensor or variable that was watched.
            unconnected_gradients: "none" or "zero"; of a target that does not depend on the source
                the answer is zeros with both, as in TensorFlow.
            parallel_iterations: accepted for TensorFlow's sake.
            experimental_use_pfor: accepted for TensorFlow's sake.

        Returns:
            [batch, *target, *source], without the batch axes of both.
        """
        why = "rows are computed together where that is possible"
        ignored("GradientTape.batch_jacobian", why, parallel_iterations=parallel_iterations)
        ignored(
            "GradientTape.batch_jacobian", why, True, experimental_use_pfor=experimental_use_pfor
        )
        self._require_persistent(experimental_use_pfor)
        return self._jacobian(late.batch_jacobian, target, source, unconnected_gradients)

    def _require_persistent(self, vectorised: bool) -> None:
        # TensorFlow needs one gradient per row then, which only a persistent tape gives eagerly.
        if not vectorised and not self._persistent and state.tracer is None:
            raise RuntimeError(
                "GradientTape: experimental_use_pfor=False needs a persistent tape\n"
                "  Try: GradientTape(persistent=True)"
            )

    def _jacobian(
        self, jacobian: Callable[..., Any], target: Any, sources: Any, unconnected: str
    ) -> Any:
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.jacobian: a tape gives its gradients once.\n"
                "  Try: GradientTape(persistent=True)"
            )
        self._used = True
        if self._recording and not self._persistent:
            self._recording = False
            pop_tape(self)
        saved = state.tapes
        state.tapes = tuple(tape for tape in saved if tape is not self)
        try:
            found = jacobian(self, target, sources, unconnected)
        finally:
            state.tapes = saved
        if not self._persistent:
            self._entries = []
            self._watched = {}
        return found

    def _differentiate(
        self, targets: Sequence[Tensor], sources: Sequence[Tensor], seeds: Sequence[Any]
    ) -> list[Tensor | None]:
        gradients = Gradients()
        watched = self._watched
        kept = {id(source) for source in sources}
        for target, seed in zip(targets, seeds, strict=True):
            # A source that is a target has a gradient, watched or not; a string has none.
            if (id(target) in watched or id(target) in kept) and target.dtype.name != "string":
                gradients.add(target, _seed(target, seed))
        accumulate(tuple(self._entries), gradients, kept, watched)
        return [gradients.total(source) for source in sources]


def carries_gradient(dtype: DType) -> bool:
    """Whether a tensor of this dtype can have a gradient."""
    return dtype.is_floating or dtype.is_complex or dtype.name in {"resource", "variant"}


def _seed(target: Tensor, given: Any) -> Tensor:
    if given is None:
        if target.dtype.name == "resource":  # a variable as its own target
            resource: Any = target._array[()]
            return constants.ones(resource.read().shape, resource.dtype)
        if type(target) is Tensor and state.tracer is None:
            return wrap(np.ones(target._array.shape, target._array.dtype))
        return constants.ones_like(target)
    if target.dtype.name == "resource":
        variable: Any = target._array[()]
        return convert_to_tensor(given, variable.dtype)
    seed = convert_to_tensor(given, target.dtype)
    if not seed.shape.is_compatible_with(target.shape):
        raise ValueError(
            f"output_gradients must have the target's shape {target.shape.text}, "
            f"got {seed.shape.text}"
        )
    return seed


def _target_tensor(item: Any) -> Tensor:
    if isinstance(item, Variable):
        return item.handle
    if isinstance(item, Operands):
        return item  # type: ignore[return-value]
    raise TypeError(
        f"GradientTape.gradient: a target must be a tensor, got {type(item).__name__}: {item!r}"
    )


def _source_tensor(item: Any) -> Tensor:
    if isinstance(item, Variable):
        return item.handle
    if isinstance(item, Tensor):
        return item
    raise TypeError(
        "GradientTape.gradient: a source must be a tensor or a variable, "
        f"got {type(item).__name__}: {item!r}"
    )


__all__ = ["GradientTape", "UnconnectedGradients", "carries_gradient"]
