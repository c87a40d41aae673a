"""Tensor, Operator, Subgraph, Model: the file as data, before it has indices."""

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
    """The map from whole numbers to real ones: scale · (q − zero).

    Attributes:
        scales: one, or one for each place on `axis`.
        zeros: as many.
        axis: of which the places have scales of their own.
    """

    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int = 0


@dataclass(slots=True, eq=False)
class Tensor:
    """A value of a subgraph.

    Attributes:
        name: which readers see.
        dtype: the element type in the file.
        shape: as far as it is known.
        data: the numbers of a constant, else None.
        quantization: of whole numbers that stand for real ones.
        is_state: whether it is kept between runs, and zero before the first.
    """

    name: str
    dtype: DType
    shape: Shape
    data: Array | None = None
    quantization: Quantization | None = None
    is_state: bool = False

    @property
    def rank(self) -> int | None:
        """The number of axes, if it is known."""
        return self.shape.rank

    @property
    def is_constant(self) -> bool:
        """Whether it has numbers of its own."""
        return self.data is not None


class Scaled(Tensor):
    """A constant of float32 that is other numbers times a factor: the product is made late.

    Large weights are written piece by piece, and are so never in memory a second time. Each look
    at `data` makes all of it.

    Args:
        source: the numbers.
        factor: one for each place of an axis of `source`, or one; the product is made in float64.
    """

    __slots__ = ("factor", "held")

    def __init__(self, source: Tensor, factor: Array) -> None:
        super().__init__(source.name, source.dtype, source.shape)
        self.held = np.asarray(source.data)
        self.factor = factor

    @property
    def data(self) -> Array:
        """The product."""
        return (self.held * self.factor).astype(np.float32)

    @data.setter
    def data(self, value: Array | None) -> None:
        if value is not None:
            raise InternalError("a scaled tensor has no numbers of its own")

    @property
    def is_constant(self) -> bool:
        """It is."""
        return True


@dataclass(slots=True, eq=False)
class Operator:
    """One application of an operator.

    Attributes:
        kind: the built-in operator, or CUSTOM.
        inputs: None for one that is left out.
        outputs: what it gives.
        options: the fields of its options; subgraphs as they are.
        origin: the node of the model that it was made of.
        custom: the name of an operator that is not built in.
        payload: the options of that.
        inner: tensors that it computes inside of it, and does not give: their scales count.
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
    """Operators in the order in which they run.

    Attributes:
        name: for readers.
        inputs: its arguments.
        outputs: its results.
        operators: what it does.
    """

    name: str
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)

    def tensors(self) -> list[Tensor]:
        """Every tensor once: arguments, then what the operators take, give and compute inside."""
        found = dict.fromkeys(self.inputs)
        for operator in self.operators:
            found.update(dict.fromkeys(x for x in operator.inputs if x is not None))
            found.update(dict.fromkeys(operator.outputs))
            found.update(dict.fromkeys(operator.inner))
        found.update(dict.fromkeys(self.outputs))
        return list(found)

    def inner(self) -> Iterator[Subgraph]:
        """The subgraphs that its operators run, once each, not those inside of them."""
        seen: set[int] = set()
        for operator in self.operators:
            for option in operator.options.values():
                for one in option if isinstance(option, tuple) else (option,):
                    if isinstance(one, Subgraph) and id(one) not in seen:
                        seen.add(id(one))
                        yield one


@dataclass(slots=True, eq=False)
class Signature:
    """A way to call the model by names.

    Attributes:
        key: its name.
        inputs: name -> argument.
        outputs: name -> result.
        subgraph: which is called.
        method: what kind of answer it gives, as a SignatureDef names it.
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
        description: a text for readers.
        metadata: name -> bytes.
    """

    signatures: list[Signature]
    description: str = ""
    metadata: dict[str, bytes] = field(default_factory=dict)

    def subgraphs(self) -> list[Subgraph]:
        """Those of the signatures first, then those that they run."""
        found = list(dict.fromkeys(signature.subgraph for signature in self.signatures))
        for subgraph in found:
            found += [inner for inner in subgraph.inner() if inner not in found]
        return found

    def operators(self) -> Iterator[Operator]:
        """Those of all subgraphs."""
        for subgraph in self.subgraphs():
            yield from subgraph.operators

    def settle(self) -> None:
        """Make the products of scaled tensors, for who looks at their numbers more than once."""
        made: dict[int, Tensor] = {}
        for operator in self.operators():
            for place, x in enumerate(operator.inputs):
                if not isinstance(x, Scaled):
                    continue
                if id(x) not in made:
                    made[id(x)] = Tensor(x.name, x.dtype, x.shape, x.data)
                operator.inputs[place] = made[id(x)]
