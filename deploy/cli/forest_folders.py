"""ydf forests for `pinnace show`: trees, features, importances."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.cli.terminal import Terminal, print_json
from pinnace.ops.trees.forest_files import read_forest, read_header, read_nodes
from pinnace.ops.trees.forest_folders import reader
from pinnace.proto.decision_forest_pb2 import DataColumn, ForestModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinnace.ops.trees.forest_files import Columns
    from pinnace.proto.decision_forest_pb2 import ForestNode, ForestNodeCondition

# Limits of the importances, and of the nodes of a tree that is printed.
_MOST_IMPORTANCES, _MOST_NODES, _MOST_WORDS = 12, 63, 6


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature.

    Attributes:
        name: its column's name.
        type: ydf's name of the column's type.
        conditions: the number of conditions on it.
        categories: the number of its categories; 0 for numerical features.
    """

    name: str
    type: str
    conditions: int
    categories: int


@dataclass(frozen=True, slots=True)
class Report:
    """The report of a forest.

    Attributes:
        kind: ydf's name of the kind of model.
        task: classification, regression, ...
        label: the column that it predicts; empty if there is none.
        outputs: the names of its outputs; empty for regression.
        trees: the number of trees.
        nodes: the number of nodes of all trees.
        depth: the depth of the deepest tree.
        features: the features, in the model's order.
        importances: measure -> feature -> importance, the most important first.
        conditions: kind of condition -> number.
        first_tree: the lines of the first tree; empty if it is large.
    """

    kind: str
    task: str
    label: str
    outputs: list[str]
    trees: int
    nodes: int
    depth: int
    features: list[Feature]
    importances: dict[str, dict[str, float]]
    conditions: dict[str, int]
    first_tree: list[str]


def report_of(folder: Path) -> Report:
    """Read a forest.

    Raises:
        InvalidArgumentError: the files contradict each other, or are not a forest.
        DataLossError: a file is damaged.
        UnimplementedError: the forest is of an unsupported kind.
    """
    read = reader(folder)
    header = read_header(read)
    forest, columns = read_forest(read)
    asked: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    first: list[ForestNode] = []
    depths: list[int] = []
    count = 0
    for node, depth, tree in _walked(read_nodes(read)):
        count += 1
        depths.append(depth)
        if tree == 0 and len(first) <= _MOST_NODES:
            first.append(node)
        if node.HasField("condition"):
            kinds[_kind(node.condition)] += 1
            asked.update(_columns(node.condition))
    lines = list(_lines(first, columns, header)) if 0 < len(first) <= _MOST_NODES else []
    return Report(
        kind=header.name,
        task=ForestModel.Task.Name(header.task),
        label=_name(columns, label) if (label := header.label_col_idx) >= 0 else "",
        outputs=[label.decode("utf-8", "backslashreplace") for label in forest.labels],
        trees=len(forest.roots),
        nodes=count,
        depth=max(depths, default=0),
        features=[_feature(columns, index, asked[index]) for index in header.input_features],
        importances=_importances(columns, header),
        conditions=dict(kinds.most_common()),
        first_tree=lines,
    )


def show_forest(folder: Path, *, as_json: bool, everything: bool) -> None:
    """Print a description of a forest."""
    report = report_of(folder)
    if as_json:
        print_json(asdict(report))
        return
    terminal = Terminal()
    terminal.heading(str(folder), f"{report.kind} \u00b7 {report.task} \u00b7 by ydf")
    outputs = ", ".join(filter(None, report.outputs))
    if report.label:
        terminal.line(f"predicts  {report.label}{f': {outputs}' if outputs else ''}")
    terminal.line(f"trees     {report.trees}, {report.nodes} nodes, at most {report.depth} deep")
    asked = ", ".join(f"{kind} {count}" for kind, count in report.conditions.items())
    terminal.line(f"asked     {asked or 'nothing'}")
    terminal.line("")
    rows = [
        (one.name, one.type.lower(), str(one.categories or ""), str(one.conditions))
        for one in report.features
    ]
    terminal.table(["feature", "type", "categories", "conditions"], rows)
    for measure, found in report.importances.items():
        most = len(found) if everything else _MOST_IMPORTANCES
        told = ", ".join(f"{name} {value:.4g}" for name, value in list(found.items())[:most])
        terminal.line(f"{measure}  {told}")
    if report.first_tree:
        terminal.line("")
        terminal.line("the first tree" if report.trees > 1 else "the tree", "bold")
        for line in report.first_tree:
            terminal.line(line)


def _walked(nodes: Iterator[ForestNode]) -> Iterator[tuple[ForestNode, int, int]]:
    """Yield the nodes with their depth and the index of their tree."""
    tree, waiting, depth = -1, [], 0
    is_root = True
    for node in nodes:
        if is_root:
            tree, depth, is_root = tree + 1, 0, False
        yield node, depth, tree
        if node.HasField("condition"):
            waiting.append(depth)
            depth += 1
        elif waiting:
            depth = waiting.pop() + 1
        else:
            is_root = True


def _kind(condition: ForestNodeCondition) -> str:
    form = condition.condition.WhichOneof("type") or "unknown"
    return form.removesuffix("_condition").replace("_", " ")


def _columns(condition: ForestNodeCondition) -> list[int]:
    of = condition.condition
    if of.WhichOneof("type") == "oblique_condition":
        return list(of.oblique_condition.attributes)
    return [condition.attribute]


def _name(columns: Columns, index: int) -> str:
    return columns.column(index).name.decode("utf-8", "backslashreplace")


def _feature(columns: Columns, index: int, conditions: int) -> Feature:
    column = columns.column(index)
    return Feature(
        _name(columns, index),
        DataColumn.Type.Name(column.type),
        conditions,
        column.categorical.number_of_unique_values,
    )


def _importances(columns: Columns, header: ForestModel) -> dict[str, dict[str, float]]:
    found = {}
    for measure, values in sorted(header.precomputed_variable_importances.items()):
        ordered = sorted(values.variable_importances, key=lambda one: -one.importance)
        found[measure] = {_name(columns, one.attribute_idx): one.importance for one in ordered}
    return found


def _lines(nodes: list[ForestNode], columns: Columns, header: ForestModel) -> Iterator[str]:
    """A tree as text, the branch for `yes` first."""
    children: list[tuple[int, int] | None] = []
    _link(nodes, 0, children)
    waiting: list[tuple[int, str, str]] = [(0, "", "")]
    while waiting:
        index, answer, margin = waiting.pop()
        node, below = nodes[index], children[index]
        lead = f"{margin}{answer}"
        if below is None:
            yield f"{lead}{_leaf(node, columns, header)}"
            continue
        yield f"{lead}{_condition(node.condition, columns)}"
        inner = margin + " " * len(answer)
        waiting.append((below[0], "no:  ", inner))
        waiting.append((below[1], "yes: ", inner))


def _link(nodes: list[ForestNode], start: int, children: list[tuple[int, int] | None]) -> None:
    """The negative and the positive child of each node."""
    children.extend([None] * len(nodes))
    waiting: list[int] = []
    for index in range(start, len(nodes)):
        if nodes[index].HasField("condition"):
            waiting.append(index)
        elif waiting:
            parent = waiting.pop()
            children[parent] = (parent + 1, index + 1)


def _condition(condition: ForestNodeCondition, columns: Columns) -> str:
    of, form = condition.condition, condition.condition.WhichOneof("type")
    column = columns.column(condition.attribute)
    name = _name(columns, condition.attribute)
    missing = ", or missing" if condition.na_value else ""
    if form == "higher_condition":
        return f"{name} >= {of.higher_condition.threshold:.6g}{missing}?"
    if form == "discretized_higher_condition":
        bucket = of.discretized_higher_condition.threshold
        known = column.discretized_numerical.boundaries
        bound = known[bucket - 1] if 0 < bucket <= len(known) else float("nan")
        return f"{name} >= {bound:.6g}{missing}?"
    if form == "true_value_condition":
        return f"{name}{missing}?"
    if form == "na_condition":
        return f"{name} is missing?"
    if form == "oblique_condition":
        terms = zip(of.oblique_condition.weights, of.oblique_condition.attributes, strict=False)
        text = " + ".join(f"{weight:.4g} * {_name(columns, index)}" for weight, index in terms)
        return f"{text} >= {of.oblique_condition.threshold:.6g}{missing}?"
    if form == "contains_bitmap_condition":
        packed = np.frombuffer(of.contains_bitmap_condition.elements_bitmap, np.uint8)
        elements = np.flatnonzero(np.unpackbits(packed, bitorder="little")).tolist()
    else:
        elements = list(of.contains_condition.elements)
    words = _words(column, elements)
    return f"{name} in {{{words}}}{missing}?"


def _words(column: DataColumn, elements: list[int]) -> str:
    names = {item.value.index: item.key for item in column.categorical.items}
    told = [
        names.get(element, str(element).encode()).decode("utf-8", "backslashreplace")
        for element in elements[:_MOST_WORDS]
    ]
    rest = len(elements) - len(told)
    return ", ".join(told) + (f" and {rest} more" if rest else "")


def _leaf(node: ForestNode, columns: Columns, header: ForestModel) -> str:
    form: Any = node.WhichOneof("output")
    if form == "regressor":
        return f"-> {node.regressor.top_value:.6g}"
    if form == "classifier":
        label = columns.column(header.label_col_idx)
        if not node.classifier.HasField("distribution"):
            return f"-> {_words(label, [node.classifier.top_value])}"
        counts = node.classifier.distribution.counts
        total = node.classifier.distribution.sum or 1.0
        share = max(counts, default=0.0) / total
        return f"-> {_words(label, [node.classifier.top_value])} ({share:.0%} of {total:.6g})"
    if form == "uplift":
        effects = ", ".join(f"{effect:.6g}" for effect in node.uplift.treatment_effect)
        return f"-> effect {effects}"
    if form == "anomaly_detection":
        return f"-> {node.anomaly_detection.num_examples_without_weight} examples"
    return "-> nothing"
