"""Pictures show every node of a graph once, and the page is self-contained."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from pinnace import saved_model
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.control.looping import while_loop
from pinnace.functions.function import function
from pinnace.graph.graph import Graph, GraphBuilder
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.picture.page import picture_data, picture_page, signature_page
from pinnace.saved_model.picture.scene import ROOT, Scene, scene_of
from support.golden import FOLDER

SAVED_MODELS = FOLDER / "saved_models"
MODELS = sorted(one.name for one in SAVED_MODELS.iterdir() if one.is_dir())


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="picture" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    return told


def graph_of(f: Callable[..., Any], *specs: TensorSpec) -> Graph:
    graph: Graph = function(f).get_concrete_function(*specs).graph
    return graph


def labels(scene: Scene, op: str) -> list[str]:
    return [box.name for box in scene.boxes if box.op == op]


@pytest.mark.parametrize("name", MODELS)
def test_every_signature_can_be_drawn(name: str) -> None:
    options = LoadOptions(experimental_skip_checkpoint=True)
    model = saved_model.load(SAVED_MODELS / name / "model", options=options)
    for signature in model.signatures:
        concrete = model.signatures[signature]
        told = data_of(signature_page(concrete, signature))
        boxes = told["boxes"]
        assert told["title"] == signature
        inputs = {box["name"] for box in boxes if box["family"] == "input" and not box["parent"]}
        assert inputs == set(concrete.structured_input_signature[1])
        for number, box in enumerate(boxes[1:], 1):
            assert 0 <= box["parent"] < len(boxes)
            rows = told["groups"][str(box["parent"])]["rows"]
            assert any(number in row for row in rows)
        for a, b, _, _ in told["edges"]:
            assert a != b
            assert 0 <= min(a, b) <= max(a, b) < len(boxes)
        standing = [
            one for group in told["groups"].values() for row in group["rows"] for one in row
        ]
        assert len(standing) == len(set(standing))
        assert set(range(1, len(boxes))) <= set(standing)


def test_nodes_and_tensors_are_shown() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return x * 2.0 + y

    spec = TensorSpec([None, 3], "float32")
    scene = scene_of(graph_of(f, spec, spec), "sum")
    (product,) = [box for box in scene.boxes if box.op == "Mul"]
    (total,) = [box for box in scene.boxes if box.op == "AddV2"]
    assert product.operands == ["2"]
    assert product.family == "math"
    assert (product.number, total.number, "float32[?, 3]") in {
        (edge.source, edge.target, edge.label) for edge in scene.edges
    }
    assert scene.node_count == 3
    assert scene.folded_count == 1


def test_what_a_loop_changes_is_not_shown_as_the_constant_it_begins_with() -> None:
    def f(x: Tensor) -> Any:
        return while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, y * 2.0), (0, x))[1]

    scene = scene_of(graph_of(f, TensorSpec([], "float32")))
    (compared,) = [box for box in scene.boxes if box.op == "Less"]
    assert compared.operands == ["5"]
    assert [edge for edge in scene.edges if edge.target == compared.number]
    (loop,) = [box for box in scene.boxes if box.op in ("While", "StatelessWhile")]
    inside = {box.label for box in scene.boxes if box.parent == loop.number}
    assert inside == {"cond", "body"}


def test_names_from_a_model_are_only_text() -> None:
    def f(x: Tensor) -> Tensor:
        return x + 1.0

    evil = "</script><script>alert(1)</script><!-- &amp;"
    page = picture_page(graph_of(f, TensorSpec([], "float32")), evil)
    assert data_of(page)["title"] == evil
    assert page.count("<script") == 2
    assert "alert(1)</script" not in page


def test_the_page_asks_for_nothing() -> None:
    def f(x: Tensor) -> Tensor:
        return x + 1.0

    page = picture_page(graph_of(f, TensorSpec([], "float32")))
    links = set(re.findall(r"(?:https?:)?//[\w.-]+[^\s\"']*", re.sub(r"//[ A-Z].*", "", page)))
    assert {link for link in links if not link.startswith("http://www.w3.org/2000/svg")} == set()
    assert "default-src 'none'" in page


def test_edges_are_seen_by_the_group_around_both_ends() -> None:
    model = saved_model.load(SAVED_MODELS / "keras_transformer" / "model")
    scene = scene_of(model.signatures["serving_default"].graph)
    told = picture_data(scene)
    parents = {number: box.parent for number, box in enumerate(scene.boxes)}

    def path(number: int) -> list[int]:
        found = [number]
        while found[0] != ROOT:
            found.insert(0, parents[found[0]])
        return found

    for edge in scene.edges:
        source, target = path(edge.source), path(edge.target)
        common = max(i for i, (a, b) in enumerate(zip(source, target, strict=False)) if a == b)
        pair = [source[common + 1], target[common + 1]]
        assert pair in [route[:2] for route in told["groups"][source[common]]["routes"]]


def test_an_empty_graph_is_a_page_too() -> None:
    assert data_of(picture_page(GraphBuilder("nothing").finish()))["groups"] == {}
