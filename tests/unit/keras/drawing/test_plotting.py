"""plot_model and model_to_dot: everything is drawn, nothing overlaps, files are what they say."""

from __future__ import annotations

import itertools
import re
import stat
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pydot
import pytest
from PIL import Image

import pinnace as tf
from pinnace.keras.drawing.boxes import Shown, frame_of
from pinnace.keras.drawing.scene import Rect, Scene, scene_of
from support import drawn_models

if TYPE_CHECKING:
    from pathlib import Path

plot_model, model_to_dot = tf.keras.utils.plot_model, tf.keras.utils.model_to_dot
MODELS = drawn_models.models(tf.keras)
EVERYTHING = Shown(True, True, True, True, True)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def no_pydot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydot", None)


def small() -> Any:
    layers = [tf.keras.Input((4,)), tf.keras.layers.Dense(3, name="a"), tf.keras.layers.ReLU()]
    return tf.keras.Sequential(layers, name="small")


# pydot's reader is written for an older pyparsing.
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


def scenes() -> list[tuple[Scene, int]]:
    found = []
    for model, direction, nested in itertools.product(
        MODELS.values(), ("TB", "LR", "BT", "RL"), (False, True)
    ):
        frame = frame_of(model, EVERYTHING, nested)
        found.append((scene_of(frame, direction, "ortho"), len(list(frame.all_edges()))))
    return found


def apart(a: Rect, b: Rect) -> bool:
    return (
        a.x + a.width <= b.x + 0.02
        or b.x + b.width <= a.x + 0.02
        or a.y + a.height <= b.y + 0.02
        or b.y + b.height <= a.y + 0.02
    )


def inside(a: Rect, b: Rect) -> bool:
    return (
        a.x >= b.x - 0.02
        and a.y >= b.y - 0.02
        and a.x + a.width <= b.x + b.width + 0.02
        and a.y + a.height <= b.y + b.height + 0.02
    )


def test_boxes_and_frames_stand_apart_or_inside_each_other_and_on_the_page() -> None:
    for scene, edges in scenes():
        page = Rect(0, 0, scene.width, scene.height, "")
        cells = [rect for rect in scene.rects if not rect.dashed]
        frames = [rect for rect in scene.rects if rect.dashed]
        assert len(scene.edges) == edges
        assert all(inside(rect, page) for rect in scene.rects)
        assert all(apart(a, b) for a, b in itertools.combinations(cells, 2))
        for frame in frames:
            others = [*cells, *(other for other in frames if other is not frame)]
            assert all(
                inside(rect, frame) or inside(frame, rect) or apart(rect, frame) for rect in others
            )
        for line in scene.lines:
            room = Rect(line.x - line.width / 2, line.y - 1, line.width, 2, "")
            assert any(inside(room, rect) for rect in scene.rects)


@pytest.mark.parametrize(
    ("direction", "way"), [("TB", (0, 1)), ("BT", (0, -1)), ("LR", (1, 0)), ("RL", (-1, 0))]
)
def test_arrows_point_the_way_that_was_asked_for(direction: str, way: tuple[int, int]) -> None:
    scene = scene_of(frame_of(MODELS["chain"], EVERYTHING, False), direction, "ortho")
    (edge,) = scene.edges
    start, tip = edge.curves[0].start, edge.head[0]
    assert [np.sign(round(tip[i] - start[i], 1)) for i in (0, 1)] == list(way)
    # From the border of a box to the border of the next.
    for x, y in (start, tip):
        assert any(
            abs(x - end) < 0.02 or abs(y - top) < 0.02
            for rect in scene.rects
            for end, top in [(rect.x, rect.y), (rect.x + rect.width, rect.y + rect.height)]
        )


def test_a_layer_that_takes_what_it_gives_has_an_edge_around_it() -> None:
    scene = scene_of(frame_of(MODELS["twice"], EVERYTHING, False), "TB", "ortho")
    (around,) = [edge for edge in scene.edges if edge.curves[0].start[1] > edge.head[0][1]]
    boxes = [rect for rect in scene.rects if rect.y < around.curves[1].start[1]]
    assert around.curves[1].start[0] > max(rect.x + rect.width for rect in boxes)


def test_straight_edges_are_straight() -> None:
    frame = frame_of(MODELS["branched"], EVERYTHING, False)
    for curve in [c for edge in scene_of(frame, "TB", "line").edges for c in edge.curves]:
        assert curve.first == curve.start
        assert curve.second == curve.end
    assert any(
        c.first != c.start for edge in scene_of(frame, "TB", "ortho").edges for c in edge.curves
    )


def test_an_svg_has_every_name_and_is_xml(tmp_path: Path) -> None:
    path = tmp_path / "model.svg"
    plot_model(MODELS["nested"], path, show_layer_names=True, expand_nested=True)
    root = ET.parse(path).getroot()
    texts = {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}
    assert {"pair", "tail", "tip", "t2 (ReLU)", "joined (Concatenate)"} <= texts
    assert len(list(root.iter(f"{SVG}polygon"))) == 8


@reads_text
def test_names_cannot_leave_their_place(tmp_path: Path) -> None:
    class Named(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x

    Named.__name__ = 'a"]; evil [x="'
    name = "<script>alert('&')<script>"
    start = tf.keras.Input((2,))
    model = tf.keras.Model(start, Named(name=name)(start), name='m"}')
    outer = tf.keras.Model(start, model(start), name="o")
    path = tmp_path / "model.svg"
    plot_model(outer, path, show_layer_names=True, expand_nested=True)
    root = ET.parse(path).getroot()
    assert not list(root.iter(f"{SVG}script"))
    assert f"{name} ({Named.__name__})" in {
        "".join(text.itertext()) for text in root.iter(f"{SVG}text")
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pydot", None)
        text = model_to_dot(outer, expand_nested=True).to_string()
    (graph,) = pydot.graph_from_dot_data(text)
    assert len(graph.get_subgraphs()) == 1
    assert "<script>" not in text


def test_a_png_is_drawn_by_pillow_in_the_wanted_resolution(tmp_path: Path) -> None:
    sizes = {}
    for dpi in (96, 192):
        plot_model(small(), tmp_path / "a.png", show_shapes=True, show_trainable=True, dpi=dpi)
        with Image.open(tmp_path / "a.png") as image:
            sizes[dpi] = image.size
            pixels = np.asarray(image)
            assert image.format == "PNG"
    assert all(abs(2 * a - b) <= 2 for a, b in zip(sizes[96], sizes[192], strict=True))
    assert pixels[0, 0].tolist() == [255] * 3
    assert (pixels == [34, 139, 34]).all(-1).sum() > 100  # forestgreen
    assert (pixels == 0).all(-1).mean() > 0.05
    plot_model(small(), tmp_path / "bare")
    with Image.open(tmp_path / "bare") as image:
        assert image.format == "PNG"
    plot_model(small(), tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes()[:5] == b"%PDF-"


def test_a_huge_picture_is_made_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pinnace.keras.drawing import pixels

    monkeypatch.setattr(pixels, "_MOST_PIXELS", 10_000)
    plot_model(small(), tmp_path / "a.png", dpi=10_000)
    with Image.open(tmp_path / "a.png") as image:
        assert 8_000 < image.size[0] * image.size[1] < 11_000


def test_without_graphviz_and_pillow_the_picture_is_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.warns(UserWarning, match=r"(?s)model.png needs Graphviz.*is in model.svg"):
        plot_model(small(), tmp_path / "model.png")
    assert not (tmp_path / "model.png").exists()
    assert ET.parse(tmp_path / "model.svg").getroot().tag == f"{SVG}svg"


PROGRAM = """#!{python}
import sys
text = sys.stdin.read()
if "-Tjpx" in sys.argv:
    sys.exit("no such format")
sys.stdout.write(" ".join(sys.argv[1:]) + chr(10) + text)
"""


@pytest.fixture
def graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of Graphviz's, which writes down what it is given."""
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
    with pytest.raises(ValueError, match="to_file must end in what Pillow writes"):
        plot_model(small(), tmp_path / "a.xyz")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_gets_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Display:
        @staticmethod
        def Image(filename: str) -> tuple[str, bytes]:  # noqa: N802 (IPython's name)
            with open(filename, "rb") as file:  # noqa: PTH123
                return "image", file.read(4)

        SVG = Image

    monkeypatch.setitem(sys.modules, "IPython", Display)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    assert plot_model(small(), tmp_path / "a.png") == ("image", b"\x89PNG")
    assert plot_model(small(), tmp_path / "a.svg") == ("image", b"<svg")
    assert plot_model(small(), tmp_path / "a.dot") is None
    monkeypatch.delitem(sys.modules, "IPython")
    assert plot_model(small(), tmp_path / "a.png") is None


def test_a_deep_model_is_drawn_in_time() -> None:
    x = start = tf.keras.Input((4,))
    for _ in range(120):
        x = tf.keras.layers.Add()([x, tf.keras.layers.Dense(4)(x)])
    scene = scene_of(frame_of(tf.keras.Model(start, x), EVERYTHING, False), "TB", "ortho")
    assert len(scene.edges) == 360
