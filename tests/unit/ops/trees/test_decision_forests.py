"""Forests of ydf give the results of walking them node by node, and refuse invalid files."""

from __future__ import annotations

import gzip
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.codegen import kernels
from pinnace.ops.kernels import compiled
from pinnace.ops.trees.forest_files import mean_path, read_forest
from pinnace.proto import decision_forest_pb2 as proto

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinnace.ops.trees.forest import Forest

# Columns of the data: two numbers, a discretised one, a boolean, a category, a set, a label.
NUMBER, OTHER, CUT, TRUTH, CATEGORY, SET, LABEL = range(7)
CATEGORIES, CLASSES = 11, 3
BOUNDARIES = [-1.0, 0.0, 2.5]


def specification() -> proto.DataSpecification:
    types = proto.DataColumn
    label = {
        "number_of_unique_values": CLASSES + 1,
        "items": [
            {"key": f"class {k}".encode(), "value": {"index": k}} for k in range(CLASSES + 1)
        ],
    }
    return proto.DataSpecification(
        columns=[
            {"type": types.NUMERICAL, "name": b"number"},
            {"type": types.NUMERICAL, "name": b"other"},
            {
                "type": types.DISCRETIZED_NUMERICAL,
                "name": b"cut",
                "discretized_numerical": {"boundaries": BOUNDARIES},
            },
            {"type": types.BOOLEAN, "name": b"truth"},
            {
                "type": types.CATEGORICAL,
                "name": b"category",
                "categorical": {"number_of_unique_values": CATEGORIES},
            },
            {
                "type": types.CATEGORICAL_SET,
                "name": b"set",
                "categorical": {"number_of_unique_values": CATEGORIES},
            },
            {"type": types.CATEGORICAL, "name": b"label", "categorical": label},
        ]
    )


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    """A condition of each kind, on the columns that support it."""
    numbers = st.integers(-4, 4).map(lambda k: k / 2)
    kind = draw(
        st.sampled_from(["higher", "true", "list", "bitmap", "bucket", "missing", "oblique"])
    )
    if kind == "oblique":
        count = draw(st.integers(1, 3))
        several = st.lists(numbers, min_size=count, max_size=count)
        of: dict[str, Any] = {
            "attributes": draw(
                st.lists(st.sampled_from([NUMBER, OTHER]), min_size=count, max_size=count)
            ),
            "weights": draw(several),
            "threshold": draw(numbers),
        }
        if draw(st.booleans()):
            of["na_replacements"] = draw(several)
        return {"attribute": NUMBER, "condition": {"oblique_condition": of}}
    if kind == "missing":
        attribute = draw(st.sampled_from([NUMBER, OTHER, CUT, TRUTH, CATEGORY, SET]))
        return {"attribute": attribute, "condition": {"na_condition": {}}}
    if kind == "true":
        return {"attribute": TRUTH, "condition": {"true_value_condition": {}}}
    if kind == "bucket":
        bucket = draw(st.integers(-1, len(BOUNDARIES) + 1))
        return {
            "attribute": CUT,
            "condition": {"discretized_higher_condition": {"threshold": bucket}},
        }
    if kind == "higher":
        return {
            "attribute": draw(st.sampled_from([NUMBER, OTHER])),
            "condition": {"higher_condition": {"threshold": draw(numbers)}},
        }
    attribute = draw(st.sampled_from([CATEGORY, SET]))
    elements = sorted(draw(st.sets(st.integers(0, CATEGORIES - 1))))
    if kind == "list":
        return {"attribute": attribute, "condition": {"contains_condition": {"elements": elements}}}
    bitmap = bytearray(2)
    for k in elements:
        bitmap[k // 8] |= 1 << k % 8
    return {
        "attribute": attribute,
        "condition": {"contains_bitmap_condition": {"elements_bitmap": bytes(bitmap)}},
    }


@st.composite
def trees(draw: st.DrawFn, leaf: st.SearchStrategy[dict[str, Any]], depth: int = 4) -> list[Any]:
    """Nodes in preorder, the negative child first."""
    if not depth or draw(st.integers(0, 3)) == 0:
        return [proto.ForestNode(**draw(leaf))]
    node = proto.ForestNode(condition={**draw(conditions()), "na_value": draw(st.booleans())})
    return [node, *draw(trees(leaf, depth - 1)), *draw(trees(leaf, depth - 1))]


values = st.integers(-8, 8).map(lambda k: k / 4)
REGRESSOR = values.map(lambda v: {"regressor": {"top_value": v}})
VOTE = st.integers(0, CLASSES).map(lambda k: {"classifier": {"top_value": k}})
SHARE = st.lists(st.integers(1, 9), min_size=CLASSES + 1, max_size=CLASSES + 1).map(
    lambda counts: {"classifier": {"distribution": {"counts": counts, "sum": sum(counts)}}}
)
EXAMPLES = st.integers(1, 9).map(
    lambda n: {"anomaly_detection": {"num_examples_without_weight": n}}
)


def blob_sequence(nodes: list[Any], compressed: bool = False) -> bytes:
    body = b"".join(
        struct.pack("<I", len(data)) + data for data in (node.SerializeToString() for node in nodes)
    )
    return (
        b"BS\x01\x00" + bytes([compressed, 0, 0, 0]) + (gzip.compress(body) if compressed else body)
    )


def model(**more: Any) -> proto.ForestModel:
    features = [NUMBER, CUT, TRUTH, OTHER, SET, CATEGORY]
    return proto.ForestModel(input_features=features, label_col_idx=LABEL, **more)


def files(
    head: Any, kind: str, header: Any, forest: list[list[Any]], **how: Any
) -> dict[str, bytes]:
    """Files as ydf writes them: nodes in two shards if they are compressed."""
    nodes = [node for tree in forest for node in tree]
    found = {
        "header.pb": head.SerializeToString(),
        "data_spec.pb": specification().SerializeToString(),
        f"{kind}_header.pb": header.SerializeToString(),
    }
    half = len(nodes) // 2 if header.num_node_shards == 2 else len(nodes)
    for shard, part in enumerate([nodes[:half], nodes[half:]][: header.num_node_shards]):
        name = f"nodes-{shard:05d}-of-{header.num_node_shards:05d}"
        found[name] = blob_sequence(part, **how)
    return found


BOOSTED = "gradient_boosted_trees"


@st.composite
def forests(draw: st.DrawFn) -> tuple[dict[str, bytes], list[list[Any]], str]:
    """Files, their trees, and the reduction of these."""
    link = draw(st.sampled_from(["softmax", "none", "exp", "mean", "votes", "shares", "isolation"]))
    leaf = {"votes": VOTE, "shares": SHARE, "isolation": EXAMPLES}.get(link, REGRESSOR)
    forest = draw(st.lists(trees(leaf), min_size=1, max_size=4))
    if link == "softmax":
        forest = [*forest, *draw(st.lists(trees(leaf), min_size=2, max_size=2))]
        forest = forest[: len(forest) - len(forest) % CLASSES]
    shards = draw(st.integers(1, 2))
    sizes = {"num_trees": len(forest), "num_node_shards": shards}
    compressed = draw(st.booleans())
    tasks, losses = proto.ForestModel, proto.GradientBoostedTreesHeader
    if link in {"mean", "votes", "shares"}:
        task = tasks.REGRESSION if link == "mean" else tasks.CLASSIFICATION
        header = proto.RandomForestHeader(winner_take_all_inference=link == "votes", **sizes)
        head = model(name="RANDOM_FOREST", task=task)
        return files(head, "random_forest", header, forest, compressed=compressed), forest, link
    if link == "isolation":
        iso = proto.IsolationForestHeader(num_examples_per_trees=32, **sizes)
        head = model(name="ISOLATION_FOREST", task=tasks.ANOMALY_DETECTION)
        return files(head, "isolation_forest", iso, forest, compressed=compressed), forest, link
    loss = {
        "softmax": losses.MULTINOMIAL_LOG_LIKELIHOOD,
        "exp": losses.POISSON,
        "none": losses.SQUARED_ERROR,
    }[link]
    per = CLASSES if link == "softmax" else 1
    boosted = proto.GradientBoostedTreesHeader(
        loss=loss, initial_predictions=[0.5] * per, num_trees_per_iter=per, **sizes
    )
    task = tasks.CLASSIFICATION if link == "softmax" else tasks.REGRESSION
    head = model(name="GRADIENT_BOOSTED_TREES", task=task)
    return files(head, BOOSTED, boosted, forest, compressed=compressed), forest, link


def weighed(condition: Any, row: dict[int, Any]) -> bool:
    of = condition.condition.oblique_condition
    total = np.float32(0)
    for k, column in enumerate(of.attributes):
        x = row[column]
        if x is None:
            if not of.na_replacements:
                return bool(condition.na_value)
            x = of.na_replacements[k]
        total += np.float32(x) * np.float32(of.weights[k])
    return bool(total >= np.float32(of.threshold))


def holds(condition: Any, row: dict[int, Any]) -> bool:
    """Whether a condition of the format holds for a row: column -> value, None if missing."""
    form = condition.condition.WhichOneof("type")
    value = row[condition.attribute]
    if form == "oblique_condition":
        return weighed(condition, row)
    if value is None:
        return form == "na_condition" or bool(condition.na_value)
    if form == "na_condition":
        return False
    if form == "higher_condition":
        return bool(value >= condition.condition.higher_condition.threshold)
    if form == "true_value_condition":
        return bool(value)
    if form == "discretized_higher_condition":
        bucket = sum(boundary <= value for boundary in BOUNDARIES)
        return bucket >= condition.condition.discretized_higher_condition.threshold
    if form == "contains_condition":
        chosen = set(condition.condition.contains_condition.elements)
    else:
        bitmap = condition.condition.contains_bitmap_condition.elements_bitmap
        chosen = {k for k in range(CATEGORIES) if bitmap[k // 8] >> k % 8 & 1}
    several = value if isinstance(value, list) else [value]
    return any((x if 0 <= x < CATEGORIES else 0) in chosen for x in several)


def leaf_of(tree: list[Any], row: dict[int, Any]) -> tuple[Any, int, int]:
    """The leaf that a row reaches, its depth, and the number of leaves before it."""

    def size(at: int) -> int:
        if not tree[at].HasField("condition"):
            return 1
        left = size(at + 1)
        return 1 + left + size(at + 1 + left)

    at, depth = 0, 0
    while tree[at].HasField("condition"):
        up = holds(tree[at].condition, row)
        at = at + 1 + size(at + 1) if up else at + 1
        depth += 1
    return tree[at], depth, sum(not node.HasField("condition") for node in tree[:at])


def expected(forest: list[list[Any]], link: str, row: dict[int, Any]) -> list[float]:
    leaves = [leaf_of(tree, row) for tree in forest]
    if link == "softmax":
        sums = [0.5] * CLASSES
        for t, (leaf, _, _) in enumerate(leaves):
            sums[t % CLASSES] += leaf.regressor.top_value
        powers = [math.exp(s) for s in sums]
        return [p / sum(powers) for p in powers]
    if link in {"none", "exp"}:
        total = 0.5 + sum(leaf.regressor.top_value for leaf, _, _ in leaves)
        return [math.exp(max(-19, min(19, total))) if link == "exp" else total]
    if link == "mean":
        return [sum(leaf.regressor.top_value for leaf, _, _ in leaves) / len(leaves)]
    if link == "isolation":

        def path(n: int) -> float:
            return 2 * (math.log(n - 1) + 0.5772156649) - 2 * (n - 1) / n if n > 2 else n - 1

        mean = sum(
            depth + path(leaf.anomaly_detection.num_examples_without_weight)
            for leaf, depth, _ in leaves
        ) / len(leaves)
        return [2 ** (-mean / path(32))]
    shares = np.zeros(CLASSES + 1)
    for leaf, _, _ in leaves:
        if link == "votes":
            shares[leaf.classifier.top_value] += 1
        else:
            found = leaf.classifier.distribution
            shares += np.array(found.counts) / found.sum
    return list(shares[1:] / shares.sum())


missing_or = lambda x: st.one_of(st.none(), x)  # noqa: E731
ROW = st.fixed_dictionaries(
    {
        NUMBER: missing_or(values),
        OTHER: missing_or(values),
        CUT: missing_or(values),
        TRUTH: missing_or(st.booleans()),
        CATEGORY: missing_or(st.integers(-5, CATEGORIES + 3).filter(lambda k: k != -1)),
        SET: missing_or(st.lists(st.integers(0, CATEGORIES + 3), max_size=3)),
    }
)


def arrays(rows: list[dict[int, Any]]) -> list[Any]:
    """The inputs of the op, columns of each in the order of the model's features."""

    def number(x: Any) -> float:
        return math.nan if x is None else float(x)

    sets = [[-1] if row[SET] is None else row[SET] for row in rows]
    bounds = np.cumsum([0, *map(len, sets)])
    n = len(rows)
    return [
        np.array(
            [[number(row[k]) for k in (NUMBER, CUT, OTHER)] for row in rows], np.float32
        ).reshape(n, 3),
        np.array([[number(row[TRUTH])] for row in rows], np.float32).reshape(n, 1),
        np.array(
            [[-1 if row[CATEGORY] is None else row[CATEGORY]] for row in rows], np.int32
        ).reshape(n, 1),
        np.array([x for one in sets for x in one], np.int32),
        np.asarray(bounds, np.int64),
        np.arange(n + 1, dtype=np.int64),
    ]


def loaded(folder: Path, found: dict[str, bytes], prefix: str = "") -> Any:
    """A handle, from files."""
    for name, data in found.items():
        (folder / (prefix + name)).write_bytes(data)
    handle = tf.raw_ops.SimpleMLCreateModelResource()
    tf.raw_ops.SimpleMLLoadModelFromPathWithHandle(
        model_handle=handle, path=f"{folder}/", file_prefix=prefix
    )
    return handle


NAMES = (
    "numerical_features",
    "boolean_features",
    "categorical_int_features",
    "categorical_set_int_features_values",
    "categorical_set_int_features_row_splits_dim_1",
    "categorical_set_int_features_row_splits_dim_2",
)


@pytest.fixture(scope="module")
def machine() -> dict[str, Any]:
    return {name: kernels.function(name) for name in ("forest", "forest words", "forest steps")}


@given(drawn=forests(), rows=st.lists(ROW, min_size=1, max_size=9))
def test_predictions_are_those_of_a_walk_node_by_node(
    drawn: Any,
    rows: list[dict[int, Any]],
    machine: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    found, forest, link = drawn
    handle = loaded(tmp_path_factory.mktemp("forest"), found)
    inputs = dict(zip(NAMES, map(tf.constant, arrays(rows)), strict=True))
    wanted = np.array([expected(forest, link, row) for row in rows])
    for made in (lambda _: None, machine.__getitem__):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "made", made)
            y, labels = tf.raw_ops.SimpleMLInferenceOpWithHandle(
                **inputs, model_handle=handle, dense_output_dim=wanted.shape[1]
            )
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=1e-6)
    names = [f"class {k + 1}".encode() for k in range(CLASSES)] if wanted.shape[1] > 1 else [b""]
    assert labels.numpy().tolist() == names
    leaves = tf.raw_ops.SimpleMLInferenceLeafIndexOpWithHandle(**inputs, model_handle=handle)
    assert leaves.numpy().tolist() == [[leaf_of(tree, row)[2] for tree in forest] for row in rows]


def simple() -> tuple[dict[str, bytes], list[Any]]:
    """A tree of three nodes with the condition that the number is at least 1."""
    nodes = [
        proto.ForestNode(
            condition={"attribute": NUMBER, "condition": {"higher_condition": {"threshold": 1.0}}}
        ),
        proto.ForestNode(regressor={"top_value": 2.0}),
        proto.ForestNode(regressor={"top_value": 4.0}),
    ]
    header = proto.RandomForestHeader(num_trees=1, num_node_shards=1)
    head = model(name="RANDOM_FOREST", task=proto.ForestModel.REGRESSION)
    return files(head, "random_forest", header, [nodes]), nodes


def read(found: dict[str, bytes]) -> Forest:
    def content(name: str) -> bytes:
        if name not in found:
            raise tf.errors.NotFoundError(None, None, f"there is no {name}")
        return found[name]

    return read_forest(content)[0]


def rewritten(found: dict[str, bytes], name: str, kind: Any, change: Callable[[Any], None]) -> None:
    message = kind.FromString(found[name])
    change(message)
    found[name] = message.SerializeToString()


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (lambda n: n[:2], "the nodes end inside of a tree"),
        (lambda n: n[:0], "0 trees were found, the header states 1"),
        (lambda n: [*n, n[1]], "nodes follow the last of 1 trees"),
        (lambda n: [*n[:1], *n[:1], *n], "nodes follow the last|end inside"),
    ],
)
def test_trees_that_are_cut_or_too_many_are_refused(nodes: Any, said: str) -> None:
    found, whole = simple()
    found["nodes-00000-of-00001"] = blob_sequence(nodes(whole))
    with pytest.raises(tf.errors.OpError, match=said):
        read(found)


def test_what_the_files_contradict_each_other_in_is_named() -> None:
    found, _ = simple()
    rewritten(found, "header.pb", proto.ForestModel, lambda m: m.input_features.remove(NUMBER))
    with pytest.raises(tf.errors.InvalidArgumentError, match="'number', which is no feature"):
        read(found)
    found, _ = simple()
    rewritten(found, "header.pb", proto.ForestModel, lambda m: m.input_features.append(99))
    with pytest.raises(tf.errors.InvalidArgumentError, match="column 99 is used"):
        read(found)
    found, _ = simple()
    rewritten(found, "header.pb", proto.ForestModel, lambda m: setattr(m, "name", "LINEAR"))
    with pytest.raises(tf.errors.UnimplementedError, match="'LINEAR' are not read"):
        read(found)
    found, nodes = simple()
    nodes[0].condition.condition.contains_condition.elements.append(3)
    found["nodes-00000-of-00001"] = blob_sequence(nodes)
    with pytest.raises(tf.errors.UnimplementedError, match="contains_condition of 'number'"):
        read(found)


def test_memory_is_bounded_by_what_the_files_hold() -> None:
    found, _ = simple()

    def many_classes(spec: Any) -> None:
        spec.columns[LABEL].categorical.number_of_unique_values = 1 << 40

    rewritten(found, "data_spec.pb", proto.DataSpecification, many_classes)
    task = proto.ForestModel.CLASSIFICATION
    rewritten(found, "header.pb", proto.ForestModel, lambda m: setattr(m, "task", task))
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot have"):
        read(found)
    found, _ = simple()
    bomb = b"BS\x01\x00\x01\x00\x00\x00" + gzip.compress(bytes(1 << 26))
    found["nodes-00000-of-00001"] = bomb
    with pytest.raises(tf.errors.InvalidArgumentError, match="expands to more than"):
        read(found)


@given(data=st.data())
def test_damaged_files_give_a_forest_or_one_clear_error(data: st.DataObject) -> None:
    found, _ = simple()
    name = data.draw(st.sampled_from(sorted(found)))
    damaged = bytearray(found[name])
    for _ in range(data.draw(st.integers(1, 3))):
        if not damaged:
            break
        at = data.draw(st.integers(0, len(damaged) - 1))
        how = data.draw(st.sampled_from(["set", "cut", "add"]))
        if how == "set":
            damaged[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del damaged[at:]
        else:
            damaged.insert(at, data.draw(st.integers(0, 255)))
    found[name] = bytes(damaged)
    try:
        forest = read(found)
    except tf.errors.OpError:
        return
    assert forest.roots.size == 1


def test_inputs_of_another_model_are_refused(tmp_path: Path) -> None:
    found, _ = simple()
    handle = loaded(tmp_path, found, prefix="p_")
    row = {NUMBER: 1.0, OTHER: 0.0, CUT: None, TRUTH: True, CATEGORY: 1, SET: [1]}
    right = dict(zip(NAMES, arrays([row, row]), strict=True))

    def ask(**changed: Any) -> Any:
        inputs = {key: tf.constant(value) for key, value in {**right, **changed}.items()}
        return tf.raw_ops.SimpleMLInferenceOpWithHandle(
            **inputs, model_handle=handle, dense_output_dim=1
        )

    assert ask()[0].numpy().tolist() == [[4.0], [4.0]]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"numerical_features must have shape \[2, 3\]"
    ):
        ask(numerical_features=right["numerical_features"][:, :2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="the same number of rows"):
        ask(numerical_features=right["numerical_features"][:1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="sets of categories must be"):
        ask(**{NAMES[4]: np.array([0, 1, 9], np.int64)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="sets of categories must be"):
        ask(**{NAMES[4]: np.array([0, -1, 2], np.int64)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="dense_output_dim must be 1"):
        tf.raw_ops.SimpleMLInferenceOpWithHandle(
            **{key: tf.constant(value) for key, value in right.items()},
            model_handle=handle,
            dense_output_dim=2,
        )
    with pytest.raises(tf.errors.FailedPreconditionError, match="was not loaded yet"):
        tf.raw_ops.SimpleMLInferenceOpWithHandle(
            **{key: tf.constant(value) for key, value in right.items()},
            model_handle=tf.raw_ops.SimpleMLCreateModelResource(),
            dense_output_dim=1,
        )
    with pytest.raises(tf.errors.NotFoundError, match=r"q_header\.pb"):
        tf.raw_ops.SimpleMLLoadModelFromPathWithHandle(
            model_handle=handle, path=f"{tmp_path}/", file_prefix="q_"
        )


@pytest.mark.parametrize(
    ("examples", "path"), [(1, 0.0), (2, 1.0), (3, 1.207392), (256, 10.244770)]
)
def test_mean_paths_are_those_of_the_paper(examples: int, path: float) -> None:
    assert mean_path(examples) == pytest.approx(path, abs=1e-5)


@pytest.mark.parametrize("loss", ["BINOMIAL_LOG_LIKELIHOOD", "BINARY_FOCAL_LOSS"])
def test_two_classes_are_a_logistic_function_or_logits(loss: str, tmp_path: Path) -> None:
    found, nodes = simple()
    header = proto.GradientBoostedTreesHeader(
        loss=loss, initial_predictions=[-1.0], num_trees=1, num_node_shards=1
    )
    task = proto.ForestModel.CLASSIFICATION
    head = model(name="GRADIENT_BOOSTED_TREES", task=task)
    found = files(head, BOOSTED, header, [nodes])

    def two(spec: Any) -> None:
        spec.columns[LABEL].categorical.number_of_unique_values = 3

    rewritten(found, "data_spec.pb", proto.DataSpecification, two)
    row = {NUMBER: 1.0, OTHER: 0.0, CUT: None, TRUTH: True, CATEGORY: 1, SET: [1]}
    inputs = dict(zip(NAMES, map(tf.constant, arrays([row])), strict=True))

    def asked(outputs: int) -> tuple[Any, Any]:
        y, labels = tf.raw_ops.SimpleMLInferenceOpWithHandle(
            **inputs, model_handle=loaded(tmp_path, found), dense_output_dim=outputs
        )
        return y.numpy(), labels.numpy().tolist()

    y, labels = asked(2)
    p = 1 / (1 + math.exp(-3))
    np.testing.assert_allclose(y, [[1 - p, p]], rtol=1e-6)
    assert labels == [b"class 1", b"class 2"]
    rewritten(
        found,
        "header.pb",
        proto.ForestModel,
        lambda m: setattr(m, "classification_outputs_probabilities", False),
    )
    y, labels = asked(1)
    assert (y.tolist(), labels) == ([[3.0]], [b"logit"])
