"""The contents of a model diagram: a box for each layer, its text, and the arrows."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.keras.models.model import Model
from pinnace.keras.models.sequential import Sequential

if TYPE_CHECKING:
    from pinnace.keras.models.topology import Topology
    from pinnace.keras.symbolic import KerasTensor, Node

# Colours of cells, as Keras has them.
PLAIN, TRAINED, FROZEN = "white", "forestgreen", "firebrick"


@dataclass(frozen=True, slots=True)
class Shown:
    """The facts that are shown of each layer.

    Attributes:
        shapes: shapes of its inputs and outputs.
        dtype: dtype of its outputs.
        names: beside its class.
        activations: activations of those that have one.
        trainable: whether each is trained, for those with weights.
    """

    shapes: bool = False
    dtype: bool = False
    names: bool = False
    activations: bool = False
    trainable: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A fact about a layer: `Output shape: **(None, 4)**`."""

    before: str
    value: str
    colour: str = PLAIN

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.value


@dataclass(frozen=True, slots=True)
class Box:
    """A layer.

    Attributes:
        key: its name in edges.
        name: name of the layer; empty if names are not shown.
        kind: its class.
        activation: None if it has none, or it is not shown.
        cells: the cells side by side below.
    """

    key: int
    name: str
    kind: str
    activation: Cell | None
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class Frame:
    """A model and its contents.

    Attributes:
        name: name of the model.
        parts: its boxes, and frames of models in it.
        edges: (from, to) of boxes, wherever these stand; each once.
    """

    name: str
    parts: list[Box | Frame] = field(default_factory=list)
    edges: dict[tuple[int, int], None] = field(default_factory=dict)


def frame_of(model: Any, shown: Shown, expand_nested: bool) -> Frame:
    """The boxes of a model.

    Args:
        model: a built model.
        shown: the columns shown of each layer.
        expand_nested: whether models in it are frames with boxes, instead of boxes.
    """
    frame = Frame(model.name)
    topology: Topology | None = model._topology
    if topology is None and not isinstance(model, Sequential):
        frame.parts.append(_box(model, shown))  # a subclassed model's `call` is opaque
        return frame
    chained = isinstance(model, Sequential)
    layers = list(model._layers) if chained or topology is None else topology.layers()
    for layer in layers:
        if expand_nested and _opens(layer):
            frame.parts.append(frame_of(layer, shown, expand_nested))
        else:
            frame.parts.append(_box(layer, shown))
    if topology is None:
        for one, other in pairwise(layers):
            frame.edges[id(one), id(other)] = None
        return frame
    drawn = {id(layer) for layer in layers}
    for node in topology.nodes:
        for index, x in enumerate(node.inputs):
            # The input of a Sequential has no box.
            if x.node is None or id(x.node.layer) not in drawn:
                continue
            if expand_nested:
                edge = id(_gives(x)), id(_takes(node, index))
            else:
                edge = id(x.node.layer), id(node.layer)
            frame.edges[edge] = None
    return frame


def _opens(layer: Any) -> bool:
    return isinstance(layer, Model) and (
        layer._topology is not None or isinstance(layer, Sequential)
    )


def _gives(x: KerasTensor) -> Any:
    """The layer that computes a tensor, at any depth of nested models."""
    node = x.node
    while node is not None and _opens(node.layer) and node.layer._topology is not None:
        index = next(i for i, out in enumerate(structure.flatten(node.outputs)) if out is x)
        x = node.layer._topology.flat_outputs[index]
        node = x.node
    return None if node is None else node.layer


def _takes(node: Node, index: int) -> Any:
    """The layer that uses input `index` of a call, at any depth of nested models."""
    layer = node.layer
    while _opens(layer):
        if isinstance(layer, Sequential):
            layer = layer._layers[0]
            continue
        begun = layer._topology.flat_inputs[index].node
        layer = begun.layer
    return layer


def _box(layer: Any, shown: Shown) -> Box:
    kind = type(layer).__name__
    activation = getattr(layer, "activation", None) if shown.activations else None
    cells = []
    if shown.shapes:
        taken, given = _shapes(layer)
        if kind != "InputLayer":
            cells.append(Cell("Input shape: ", taken))
        cells.append(Cell("Output shape: ", given))
    if shown.dtype:
        cells.append(Cell("Output dtype: ", _dtypes(layer)))
    if shown.trainable and layer.weights:
        trained = layer.trainable
        word, colour = ("Trainable", TRAINED) if trained else ("Non-trainable", FROZEN)
        cells.append(Cell("", word, colour))
    return Box(
        id(layer),
        layer.name if shown.names else "",
        kind,
        None if activation is None else Cell("Activation: ", _called(activation)),
        tuple(cells),
    )


def _called(activation: Any) -> str:
    return str(getattr(activation, "name", None) or getattr(activation, "__name__", activation))


def _ends(layer: Any) -> tuple[Any, Any] | None:
    """The inputs and outputs of a layer's first call, or of a model; None if unknown."""
    try:
        taken, given = layer.input, layer.output
    except (AttributeError, NotImplementedError, ValueError):
        return None
    if not isinstance(layer, Model):
        outputs = structure.flatten(given)
        given = outputs[0] if len(outputs) == 1 else outputs
    return taken, given


def _shapes(layer: Any) -> tuple[str, str]:
    ends = _ends(layer)
    if ends is None:
        return "?", "?"
    taken, given = (_as_text(structure.map_structure(lambda x: _Plain(x.shape), e)) for e in ends)
    return taken, given


class _Plain:
    """A shape that is written as a tuple and does not count as a structure."""

    def __init__(self, shape: Any) -> None:
        self._sizes = tuple(shape)

    def __repr__(self) -> str:
        return repr(self._sizes)


def _as_text(shapes: Any) -> str:
    if isinstance(shapes, dict):
        return ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
    return str(shapes)


def _dtypes(layer: Any) -> str:
    ends = _ends(layer)
    return "?" if ends is None else str(structure.map_structure(lambda x: x.dtype.name, ends[1]))
