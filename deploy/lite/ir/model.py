"""Tensor, Operator, Subgraph, Model: the contents of a file, with references instead of indices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InternalError
from pinnace.saved_model.constants import PREDICT_METHOD_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array


@dataclass(frozen=True, slots=True)
class Quantization:
    """The map from quantised integers q to real numbers: scale · (q − zero).

    Attributes:
        scales: one, or one for each index along `axis`.
        zeros: the zero points, one for each scale.
        axis: the axis along which scales differ.
    """

    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int = 0


@dataclass(slots=True, eq=False)
class Tensor:
    """A value of a subgraph.

    Attributes:
        name: its name in the file.
        dtype: the element type in the file.
        shape: its shape, as far as known.
        data: the elements of a constant, else None.
        quantization: the map to real numbers, if its integers are quantised.
        is_state: whether it is a variable tensor, which is zero before the first run.
    """

    name: str
    dtype: DType
    shape: Shape
    data: Array | None = None
    quantization: Quantization | None = None
    is_state: bool = False

    @property
    def rank(self) -> int | None:
        """The number of axes; None if it is unknown."""
        return self.shape.rank

    @property
    def is_constant(self) -> bool:
        """Whether it has data."""
        return self.data is not None


class Scaled(Tensor):
    """A float32 constant that is another constant times a factor, multiplied when it is read.

    Large weights are written in pieces, so the product never exists as a whole in memory. Each read
    of `data` computes all of it.

    Args:
        source: the other constant.
        factor: a scalar, or one factor for each index along an axis; multiplied in float64.
    """

    __slots__ = ("factor", "held")

    def __init__(self, source: Tensor, factor: Array) -> None:
        super().__init__(source.name, source.dtype, source.shape)
        self.held = np.asarray(source.data)
        self.factor = factor

    @property
    def data(self) -> Array:
        """The product, computed anew."""
        return (self.held * self.factor).astype(np.float32)

    @data.setter
    def data(self, value: Array | None) -> None:
        if value is not None:
            raise InternalError("the data of a scaled tensor cannot be set")

    @property
    def is_constant(self) -> bool:
        """True: the product is a constant."""
        return True


@dataclass(slots=True, eq=False)
class Operator:
    """One application of an operator.

    Attributes:
        kind: the built-in operator, or CUSTOM.
        inputs: its inputs; None for one that is left out.
        outputs: its outputs.
        options: the fields of its options table; subgraphs are objects, not indices.
        origin: the node of the model that it was made from.
        custom: the name of an operator that is not built in.
        payload: the options of a custom operator.
        inner: intermediate tensors, which are no outputs but have scales.
    """

    kind: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    options: dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    custom: str = ""
    payload: bytes = b""
    inner: list[Tensor] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Subgraph:
    """Operators in their order of execution.

    Attributes:
        name: its name in the file.
        inputs: its arguments.
        outputs: its results.
        operators: the operators in order.
    """

    name: str
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)

    def tensors(self) -> list[Tensor]:
        """Every tensor once: arguments, then the operators' inputs, outputs and intermediates."""
        found = dict.fromkeys(self.inputs)
        for operator in self.operators:
            found.update(dict.fromkeys(x for x in operator.inputs if x is not None))
            found.update(dict.fromkeys(operator.outputs))
            found.update(dict.fromkeys(operator.inner))
        found.update(dict.fromkeys(self.outputs))
        return list(found)

    def inner(self) -> Iterator[Subgraph]:
        """The subgraphs that its operators run, each once, without those nested in them."""
        seen: set[int] = set()
        for operator in self.operators:
            for option in operator.options.values():
                for one in option if isinstance(option, tuple) else (option,):
                    if isinstance(one, Subgraph) and id(one) not in seen:
                        seen.add(id(one))
                        yield one


@dataclass(slots=True, eq=False)
class Signature:
    """Named inputs and outputs of a subgraph.

    Attributes:
        key: the signature's name.
        inputs: name -> argument.
        outputs: name -> result.
        subgraph: the subgraph that is called.
        method: the method name of a SignatureDef.
    """

    key: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    subgraph: Subgraph
    method: str = PREDICT_METHOD_NAME


@dataclass(slots=True, eq=False)
class Model:
    """The contents of a file.

    Attributes:
        signatures: at least one.
        description: a text for readers of the file.
        metadata: name -> bytes.
    """

    signatures: list[Signature]
    description: str = ""
    metadata: dict[str, bytes] = field(default_factory=dict)

    def subgraphs(self) -> list[Subgraph]:
        """The subgraphs of the signatures, then those that their operators run."""
        found = list(dict.fromkeys(signature.subgraph for signature in self.signatures))
        for subgraph in found:
            found += [inner for inner in subgraph.inner() if inner not in found]
        return found

    def operators(self) -> Iterator[Operator]:
        """The operators of all subgraphs."""
        for subgraph in self.subgraphs():
            yield from subgraph.operators

    def settle(self) -> None:
        """Compute the products of scaled tensors now, for passes that read them repeatedly."""
        made: dict[int, Tensor] = {}
        for operator in self.operators():
            for place, x in enumerate(operator.inputs):
                if not isinstance(x, Scaled):
                    continue
                if id(x) not in made:
                    made[id(x)] = Tensor(x.name, x.dtype, x.shape, x.data)
                operator.inputs[place] = made[id(x)]
