"""model_to_dot and plot_model: a model as a Graphviz graph, and as an image."""

from __future__ import annotations

import importlib
import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.keras.drawing import dot
from pinnace.keras.drawing.boxes import Shown, frame_of

if TYPE_CHECKING:
    import os

_DIRECTIONS = ("TB", "BT", "LR", "RL")


def model_to_dot(
    model: Any,
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 200,
    subgraph: bool = False,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    splines: str = "ortho",
    **kwargs: Any,
) -> Any:
    """A model as a graph for Graphviz.

    Args:
        model: a built model.
        show_shapes: whether the shapes of inputs and outputs are shown.
        show_dtype: whether the dtype of outputs is shown.
        show_layer_names: whether names are shown beside classes.
        rankdir: direction of the data flow: `TB` down, `LR` to the right, `BT`, `RL`.
        expand_nested: whether models in it are shown with their layers.
        dpi: pixels an inch, of pictures with pixels.
        subgraph: whether a cluster is given, to be put into another graph.
        show_layer_activations: whether activations are shown.
        show_trainable: whether it is shown what training changes.
        splines: how Graphviz draws edges: `ortho`, `curved`, `polyline`, `spline`, `line`.
        **kwargs: none.

    Returns:
        A `pydot.Dot` (`pydot.Cluster`) where pydot is installed; else a graph of our own with
        `to_string`, `create`, `write`, `write_png`, `write_svg`, `write_pdf` and `write_dot`.

    Raises:
        ValueError: the model is not built, or an argument is unknown.
    """
    _check("model_to_dot", model, kwargs)
    shown = Shown(show_shapes, show_dtype, show_layer_names, show_layer_activations, show_trainable)
    frame = frame_of(model, shown, expand_nested)
    settings = _settings(rankdir, dpi, splines)
    pydot = _pydot()
    if pydot is not None:
        return dot.as_pydot(pydot, frame, settings, subgraph)
    return dot.Dot(frame, settings, subgraph)


def plot_model(
    model: Any,
    to_file: str | os.PathLike[str] = "model.png",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = False,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 200,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    splines: str = "ortho",
    **kwargs: Any,
) -> Any:
    """Draw a model into a file.

    Graphviz's program `dot` draws. Without it, the graph is written as text into a `.dot` file
    beside the wanted one, and a warning says what to install.

    Args:
        model: a built model.
        to_file: the file, whose ending says what is written; PNG without one. `.dot` and `.gv` are
            the graph itself.
        show_shapes: see `model_to_dot`, and so for all others.
        show_dtype: likewise.
        show_layer_names: likewise.
        rankdir: likewise.
        expand_nested: likewise.
        dpi: likewise.
        show_layer_activations: likewise.
        show_trainable: likewise.
        splines: likewise.
        **kwargs: none.

    Returns:
        The picture for a notebook, where one runs; else None.

    Raises:
        ValueError: the model is not built, or an argument is unknown.
        OSError: the file cannot be written, or Graphviz fails.
    """
    _check("plot_model", model, kwargs)
    shown = Shown(show_shapes, show_dtype, show_layer_names, show_layer_activations, show_trainable)
    frame = frame_of(model, shown, expand_nested)
    path = Path(to_file)
    kind = path.suffix[1:].lower() or "png"
    graph = dot.Dot(frame, _settings(rankdir, dpi, splines))
    if kind not in dot.TEXTS and shutil.which("dot") is None:
        beside = path.with_suffix(".dot")
        warnings.warn(
            f"plot_model: {path.name} needs Graphviz's program 'dot', which is not there; the "
            f"graph is in {beside.name}, as text\n  Try: {dot.INSTALL}",
            UserWarning,
            stacklevel=2,
        )
        path, kind = beside, "dot"
    graph.write(path, format=kind)
    return None if kind in (*dot.TEXTS, "pdf") else _shown(path, kind)


def _check(who: str, model: Any, more: dict[str, Any]) -> None:
    if more.pop("layer_range", None) is not None:
        raise ValueError(
            f"{who}: layer_range must be None, in Keras 3 too\n"
            "  Try: model.summary(layer_range=...)"
        )
    if more:
        raise ValueError(f"{who}: there is no argument {', '.join(map(repr, more))}")
    if not model.built:
        raise ValueError(
            f"{who}: the model {model.name!r} has no weights and shapes yet\n"
            "  Try: model.build(input_shape), or call it on data first"
        )


def _settings(rankdir: str, dpi: int, splines: str) -> dict[str, Any]:
    if rankdir not in _DIRECTIONS:
        raise ValueError(
            f"model_to_dot: rankdir must be one of {', '.join(_DIRECTIONS)}, got {rankdir!r}"
        )
    return {"rankdir": rankdir, "concentrate": True, "dpi": dpi, "splines": splines}


def _pydot() -> Any:
    try:
        return importlib.import_module("pydot")
    except ImportError:
        return None


def _shown(path: Path, kind: str) -> Any:
    """The image for display in a notebook; imports nothing outside of one."""
    if "IPython" not in sys.modules:
        return None
    display = importlib.import_module("IPython.display")
    return display.SVG(filename=str(path)) if kind == "svg" else display.Image(filename=str(path))
