"""Models whose graphs are plotted, and the content of pydot's graphs; both libraries run this.

Run as a program: `python drawn_models.py FOLDER ANSWERS`, where FOLDER has pydot.
"""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

OPTIONS: list[dict[str, Any]] = [
    {},
    {"show_shapes": True, "show_dtype": True},
    {"show_layer_names": False, "show_layer_activations": True, "show_trainable": True},
    {"show_shapes": True, "expand_nested": True},
    {"expand_nested": True, "rankdir": "LR", "dpi": 100, "splines": "line"},
    {"subgraph": True, "show_trainable": True},
]


def models(keras: Any) -> dict[str, Any]:
    """Chains, branches, several inputs and outputs, nested models, a subclassed model."""
    layers, start = keras.layers, keras.Input
    chain = keras.Sequential(
        [start((4,)), layers.Dense(3, activation="relu", name="a"), layers.Dense(2, name="b")],
        name="chain",
    )
    image, words = start((6, 6, 1), name="image"), start((5,), dtype="int32", name="words")
    x = layers.Conv2D(2, 3, padding="same", activation="relu", name="conv")(image)
    y = layers.BatchNormalization(name="norm", trainable=False)(x)
    x = layers.Add(name="skip")([x, y])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    z = layers.Embedding(9, 3, name="embed")(words)
    out, state = layers.GRU(4, return_state=True, name="gru")(z)
    both = layers.Concatenate(name="both")([x, out, state])
    heads = {
        "digit": layers.Dense(10, name="digit")(both),
        "odd": layers.Dense(1, name="odd")(both),
    }
    branched = keras.Model({"image": image, "words": words}, heads, name="branched")
    inside = start((3,), name="inside")
    wide = layers.Dense(5, name="wide")(inside)
    pair = keras.Model(inside, [layers.Dense(2, name="thin")(wide), wide], name="pair")
    tail = keras.Sequential(
        [
            start((7,)),
            layers.Dense(2, name="t1"),
            keras.Sequential([start((2,)), layers.ReLU(name="t2")], name="tip"),
        ],
        name="tail",
    )
    outer = start((3,), name="outer")
    thin, wide = pair(outer)
    joined = layers.Concatenate(name="joined")([thin, wide])
    nested = keras.Model(outer, layers.Dense(1, name="last")(tail(joined)), name="nested")
    shared = layers.Dense(3, name="shared")
    twice = keras.Model(outer, shared(shared(outer)), name="twice")

    class Own(keras.Model):  # type: ignore[misc, unused-ignore] # of either library
        def __init__(self) -> None:
            super().__init__(name="own")
            self.dense = layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.dense(x)

    own = Own()
    own(np.zeros((1, 3), np.float32))
    return {m.name: m for m in (chain, branched, nested, twice, own)}


def told(dot: Any) -> dict[str, Any]:
    """A pydot graph described by the texts of its nodes, since their keys differ each time."""
    boxes: dict[str, str] = {}

    def walk(graph: Any) -> dict[str, Any]:
        found = []
        for node in graph.get_nodes():
            if node.get_label() is None:
                continue
            cells = re.findall(r"<td[^>]*>(.*?)</td>", node.get_label())
            colours = [
                c for c in re.findall(r'bgcolor="(\w+)"', node.get_label()) if "e" not in c[:1]
            ]
            texts = [html.unescape(re.sub("<[^>]*>", "", cell)) for cell in cells]
            boxes[node.get_name()] = " | ".join(
                [*texts, *sorted(set(colours) - {"black", "white"})]
            )
            found.append(boxes[node.get_name()])
        inner = [walk(one) for one in graph.get_subgraphs()]
        return {
            "name": (graph.get_label() or "").strip('"'),
            "boxes": sorted(found),
            "frames": sorted(inner, key=lambda one: str(one["name"])),
            "edges": graph,
        }

    def linked(frame: dict[str, Any]) -> None:
        edges = [
            f"{boxes[str(e.get_source())]} -> {boxes[str(e.get_destination())]}"
            for e in frame["edges"].get_edges()
        ]
        frame["edges"] = sorted(edges)
        for inner in frame["frames"]:
            linked(inner)

    whole = walk(dot)
    linked(whole)
    names = ("rankdir", "concentrate", "dpi", "splines", "style", "labeljust")
    return {**whole, "settings": {name: str(dot.get(name)) for name in names}}


def answers(keras: Any, model_to_dot: Any) -> dict[str, Any]:
    """The plot of each model with each of the options."""
    return {
        f"{name} {options}": told(model_to_dot(model, **options))
        for name, model in models(keras).items()
        for options in OPTIONS
    }


def _main() -> None:
    sys.path.insert(0, sys.argv[1])
    import keras  # type: ignore[import-not-found, unused-ignore]

    Path(sys.argv[2]).write_text(json.dumps(answers(keras, keras.utils.model_to_dot)))


if __name__ == "__main__":
    _main()
