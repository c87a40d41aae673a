"""plot_model and model_to_dot: complete descriptions, and files of the named format."""

from __future__ import annotations

import re
import stat
import sys
from typing import TYPE_CHECKING, Any

import pydot
import pytest

import pinnace as tf
from support import drawn_models

if TYPE_CHECKING:
    from pathlib import Path

plot_model, model_to_dot = tf.keras.utils.plot_model, tf.keras.utils.model_to_dot
MODELS = drawn_models.models(tf.keras)


@pytest.fixture(autouse=True)
def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def no_pydot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydot", None)


def small() -> Any:
    layers = [tf.keras.Input((4,)), tf.keras.layers.Dense(3, name="a"), tf.keras.layers.ReLU()]
    return tf.keras.Sequential(layers, name="small")


# pydot's parser is written for an older pyparsing.
reads_text = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@reads_text
@pytest.mark.parametrize("options", drawn_models.OPTIONS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_the_text_is_the_graph_of_pydot(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = drawn_models.told(model_to_dot(MODELS[name], **options))
    monkeypatch.setitem(sys.modules, "pydot", None)
    text = model_to_dot(MODELS[name], **options).to_string()
    if options.get("subgraph"):
        text = f"digraph {{ {text} }}"
    monkeypatch.undo()
    (found,) = pydot.graph_from_dot_data(text)
    told = drawn_models.told(found.get_subgraphs()[0] if options.get("subgraph") else found)
    settings = {key: value.strip('"') for key, value in told["settings"].items()}
    wanted["settings"]["concentrate"] = wanted["settings"]["concentrate"].replace("True", "true")
    wanted["settings"]["labeljust"] = wanted["settings"]["labeljust"].strip('"')
    assert {**told, "settings": settings} == wanted


def test_what_is_told_of_a_layer_is_what_keras_tells() -> None:
    # Keras 3.15 with pydot: the texts of the cells.
    graph = model_to_dot(MODELS["branched"], show_shapes=True, show_dtype=True, show_trainable=True)
    told = drawn_models.told(graph)
    assert (
        "gru (GRU) | Input shape: (None, 5, 3) | Output shape: [(None, 4), (None, 4)] | "
        "Output dtype: ['float32', 'float32'] | Trainable | forestgreen"
    ) in told["boxes"]
    assert any("norm" in box and "Non-trainable | firebrick" in box for box in told["boxes"])
    assert "words (InputLayer) | Output shape: (None, 5) | Output dtype: int32" in told["boxes"]


def test_a_model_in_a_model_is_linked_from_layer_to_layer() -> None:
    told = drawn_models.told(model_to_dot(MODELS["nested"], expand_nested=True))
    assert [frame["name"] for frame in told["frames"]] == ["pair", "tail"]
    assert told["frames"][1]["frames"][0]["boxes"] == ["t2 (ReLU)"]
    assert told["edges"] == [
        "joined (Concatenate) -> t1 (Dense)",
        "outer (InputLayer) -> inside (InputLayer)",
        "t2 (ReLU) -> last (Dense)",
        "thin (Dense) -> joined (Concatenate)",
        "wide (Dense) -> joined (Concatenate)",
    ]


@reads_text
def test_names_cannot_leave_their_place() -> None:
    class Named(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x

    Named.__name__ = 'a"]; evil [x="'
    name = "<script>alert('&')<script>"
    start = tf.keras.Input((2,))
    model = tf.keras.Model(start, Named(name=name)(start), name='m"}')
    outer = tf.keras.Model(start, model(start), name="o")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pydot", None)
        text = model_to_dot(outer, expand_nested=True).to_string()
    (graph,) = pydot.graph_from_dot_data(text)
    assert len(graph.get_subgraphs()) == 1
    assert "<script>" not in text


def test_without_graphviz_the_graph_is_beside_as_text(tmp_path: Path) -> None:
    for name in ("model.png", "model.svg", "model"):
        with pytest.warns(UserWarning, match=r"(?s)needs Graphviz.*is in model.dot.*apt install"):
            assert plot_model(small(), tmp_path / name, show_layer_names=True) is None
        assert "<b>a</b> (Dense)" in (tmp_path / "model.dot").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["model.dot"]


PROGRAM = """#!{python}
import sys
text = sys.stdin.read()
if "-Tjpx" in sys.argv:
    sys.exit("no such format")
sys.stdout.write(" ".join(sys.argv[1:]) + chr(10) + text)
"""


@pytest.fixture
def graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in place of Graphviz's, which records its input."""
    program = tmp_path / "bin" / "dot"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent))


@pytest.mark.usefixtures("graphviz", "no_pydot")
def test_graphviz_draws_where_it_is(tmp_path: Path) -> None:
    for name in ("a.svg", "a.png", "a.xyz", "a"):
        plot_model(small(), tmp_path / name, dpi=70)
        first, rest = (tmp_path / name).read_text().split("\n", 1)
        assert first == f"-T{name[2:] or 'png'}"
        assert re.sub(r"\d{6,}", "", rest) == re.sub(
            r"\d{6,}", "", model_to_dot(small(), dpi=70, show_layer_names=False).to_string()
        )
    graph = model_to_dot(small())
    assert graph.write_pdf(tmp_path / "b.pdf")
    assert (tmp_path / "b.pdf").read_text() == "-Tpdf\n" + str(graph)
    with pytest.raises(OSError, match="Graphviz could not write 'jpx': no such format"):
        plot_model(small(), tmp_path / "a.jpx")
    assert not (tmp_path / "a.jpx").exists()


@pytest.mark.usefixtures("no_pydot")
def test_the_graph_itself_needs_no_program(tmp_path: Path) -> None:
    plot_model(small(), tmp_path / "a.dot", show_layer_names=True)
    assert "<b>a</b> (Dense)" in (tmp_path / "a.dot").read_text()
    graph = model_to_dot(small())
    graph.write(str(tmp_path / "b.gv"))
    assert (
        (tmp_path / "b.gv").read_text() == graph.to_string() == graph.create(format="raw").decode()
    )
    with pytest.raises(FileNotFoundError, match=r"(?s)'dot' is not there\n  Try: apt install"):
        graph.write_png(tmp_path / "b.png")


def test_what_cannot_be_drawn_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with pytest.raises(ValueError, match=r"(?s)has no weights and shapes yet\n  Try: model.build"):
        plot_model(tf.keras.Sequential([tf.keras.layers.Dense(2)]), path)
    for function, arguments in ((plot_model, (path,)), (model_to_dot, ())):
        with pytest.raises(ValueError, match="layer_range must be None"):
            function(small(), *arguments, layer_range=["a", "b"])
        with pytest.raises(ValueError, match="there is no argument 'show_shape'"):
            function(small(), *arguments, show_shape=True)
    with pytest.raises(ValueError, match="rankdir must be one of TB, BT, LR, RL, got 'UP'"):
        plot_model(small(), path, rankdir="UP")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("graphviz")
def test_a_notebook_gets_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Display:
        @staticmethod
        def Image(filename: str) -> tuple[str, bytes]:  # noqa: N802 (IPython's name)
            with open(filename, "rb") as file:  # noqa: PTH123
                return "image", file.read(4)

        SVG = Image

    monkeypatch.setitem(sys.modules, "IPython", Display)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    assert plot_model(small(), tmp_path / "a.png") == ("image", b"-Tpn")
    assert plot_model(small(), tmp_path / "a.svg") == ("image", b"-Tsv")
    assert plot_model(small(), tmp_path / "a.dot") is None
    monkeypatch.delitem(sys.modules, "IPython")
    assert plot_model(small(), tmp_path / "a.png") is None
