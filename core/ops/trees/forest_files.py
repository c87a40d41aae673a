"""A decision forest from the files that Yggdrasil (ydf, TensorFlow Decision Forests) writes.

`header.pb` names the kind of model, `data_spec.pb` the columns; a header of the kind and the nodes,
in shards, are the forest. Nodes of a tree follow each other in preorder, the negative child first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message

from pinnace.framework.errors import DataLossError, InvalidArgumentError, UnimplementedError
from pinnace.ops.trees import nodes as kinds
from pinnace.ops.trees.forest import Forest
from pinnace.ops.trees.nodes import Nodes
from pinnace.proto import decision_forest_pb2 as proto
from pinnace.storage.blob_sequence import blobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array
    from pinnace.ops.trees.forest import Link

M = TypeVar("M", bound=Message)

_TASKS = proto.ForestModel
_LOSSES = proto.GradientBoostedTreesHeader
_TYPES = proto.DataColumn
# The most values that the leaves of a forest may have in total.
_MOST_VALUES = 1 << 28
# The largest expansion of a shard per compressed byte, and in total.
_MOST_EXPANSION, _MOST_BYTES = 256, 1 << 32
_EULER = 0.5772156649
_RANKED = frozenset({_LOSSES.LAMBDA_MART_NDCG, _LOSSES.LAMBDA_MART_NDCG5, _LOSSES.XE_NDCG_MART})


# A leaf's value as a function of the node and its depth: a number or a row of them.
_Leaf: TypeAlias = "Callable[[proto.ForestNode, int], Any]"


class _Kind(NamedTuple):
    """The rule by which a kind of model combines its leaves.

    Args:
        trees: how many there must be.
        shards: shards of nodes.
        outputs: sums over trees.
        stride: stride of trees that give to the same output.
        start: initial value of the sums.
        link: the function applied to them.
        leaf: the values of a leaf, `outputs` numbers.
        denominator: denominator of the link.
    """

    trees: int
    shards: int
    outputs: int
    stride: int
    start: Array
    link: Link
    leaf: _Leaf
    denominator: float = 0.0


class Columns:
    """The input and column of each feature of a model.

    Args:
        model: header.pb.
        spec: data_spec.pb.

    Raises:
        UnimplementedError: a feature is of a type that the ops have no input for.
    """

    def __init__(self, model: proto.ForestModel, spec: proto.DataSpecification) -> None:
        self.spec = spec
        self.numerical: dict[int, int] = {}
        self.boolean: dict[int, int] = {}
        self.categorical: dict[int, int] = {}
        self.sets: dict[int, int] = {}
        homes = {
            _TYPES.NUMERICAL: self.numerical,
            _TYPES.DISCRETIZED_NUMERICAL: self.numerical,
            _TYPES.BOOLEAN: self.boolean,
            _TYPES.CATEGORICAL: self.categorical,
            _TYPES.CATEGORICAL_SET: self.sets,
        }
        for feature in model.input_features:
            column = self.column(feature)
            home = homes.get(column.type)
            if home is None:
                raise UnimplementedError(
                    f"decision forest: feature {_name(column)} is "
                    f"{_TYPES.Type.Name(column.type)}; numbers, booleans, categories and sets of "
                    "categories are read"
                )
            home.setdefault(feature, len(home))

    def column(self, index: int) -> proto.DataColumn:
        """The column of that number; InvalidArgumentError if there is none."""
        if not 0 <= index < len(self.spec.columns):
            raise InvalidArgumentError(
                f"decision forest: column {index} is used, but data_spec.pb has "
                f"{len(self.spec.columns)}"
            )
        return self.spec.columns[index]

    def place(self, index: int) -> tuple[proto.DataColumn, int, bool]:
        """A column, its number among the inputs, and whether it is a set.

        Numbers and booleans are one input, booleans behind the numbers.
        """
        column = self.column(index)
        if index in self.numerical:
            return column, self.numerical[index], False
        if index in self.boolean:
            return column, len(self.numerical) + self.boolean[index], False
        for home, is_set in ((self.categorical, False), (self.sets, True)):
            if index in home:
                return column, home[index], is_set
        raise InvalidArgumentError(
            f"decision forest: a tree uses {_name(column)}, which is no feature of the model"
        )

    def cuts(self, home: dict[int, int]) -> Array:
        """One more than the highest category, for each column in `home`."""
        return np.array(
            [self.column(k).categorical.number_of_unique_values for k in home], np.int64
        )


def _name(column: proto.DataColumn) -> str:
    return repr(column.name.decode("utf-8", "backslashreplace"))


def read_forest(read: Callable[[str], bytes]) -> tuple[Forest, Columns]:
    """The forest in a folder.

    Args:
        read: gives the content of a file of that name.

    Raises:
        InvalidArgumentError: the files contradict each other, or are none of a forest.
        DataLossError: a file is damaged.
        UnimplementedError: the model is of a kind, or asks something, that is not known here.
    """
    model = _message(proto.ForestModel, read, "header.pb")
    columns = Columns(model, _message(proto.DataSpecification, read, "data_spec.pb"))
    kind = _kind(model, columns, read)
    return _Reader(columns, kind).forest(read, _labels(model, columns, kind)), columns


def read_header(read: Callable[[str], bytes]) -> proto.ForestModel:
    """The forest's kind, task, features and importances, from a folder.

    Args:
        read: gives the content of a file of that name.

    Raises:
        DataLossError: the file is damaged.
    """
    return _message(proto.ForestModel, read, "header.pb")


def read_nodes(read: Callable[[str], bytes]) -> Iterator[proto.ForestNode]:
    """The nodes of a forest: tree by tree, in preorder, the negative child first.

    Args:
        read: gives the content of a file of that name.

    Raises:
        InvalidArgumentError: the files contradict each other, or are none of a forest.
        DataLossError: a file is damaged.
        UnimplementedError: the model is of a kind that is not known here.
    """
    model = read_header(read)
    columns = Columns(model, _message(proto.DataSpecification, read, "data_spec.pb"))
    yield from _nodes(read, _kind(model, columns, read).shards)


def _message(kind: type[M], read: Callable[[str], bytes], name: str) -> M:
    try:
        return kind.FromString(read(name))
    except DecodeError as error:
        raise DataLossError(f"decision forest: {name} is damaged: {error}") from None


def _kind(model: proto.ForestModel, columns: Columns, read: Callable[[str], bytes]) -> _Kind:
    if model.name == "GRADIENT_BOOSTED_TREES":
        header = _message(
            proto.GradientBoostedTreesHeader, read, "gradient_boosted_trees_header.pb"
        )
        return _boosted(model, columns, header)
    if model.name in {"RANDOM_FOREST", "CART"}:
        return _averaged(
            model, columns, _message(proto.RandomForestHeader, read, "random_forest_header.pb")
        )
    if model.name == "ISOLATION_FOREST":
        return _isolating(_message(proto.IsolationForestHeader, read, "isolation_forest_header.pb"))
    raise UnimplementedError(
        f"decision forest: models of kind {model.name!r} are not read; RANDOM_FOREST, "
        "GRADIENT_BOOSTED_TREES and ISOLATION_FOREST are"
    )


def _regression(node: proto.ForestNode, _depth: int) -> float:
    return node.regressor.top_value


def _at_least_one(trees: int) -> int:
    """The divisor of means; boosted forests without trees return the initial value."""
    if trees < 1:
        raise InvalidArgumentError(
            f"decision forest: the header must state at least one tree, got {trees}"
        )
    return trees


def _boosted(
    model: proto.ForestModel, columns: Columns, header: proto.GradientBoostedTreesHeader
) -> _Kind:
    loss = header.loss
    links: dict[int, Link] = {
        _LOSSES.BINOMIAL_LOG_LIKELIHOOD: "sigmoid",
        _LOSSES.BINARY_FOCAL_LOSS: "sigmoid",
        _LOSSES.MULTINOMIAL_LOG_LIKELIHOOD: "softmax",
        _LOSSES.POISSON: "exp",
        _LOSSES.SQUARED_ERROR: "none",
        _LOSSES.MEAN_AVERAGE_ERROR: "none",
        _LOSSES.COX_PROPORTIONAL_HAZARD: "none",
        **dict.fromkeys(_RANKED, "none"),
    }
    if loss not in links:
        raise UnimplementedError(
            f"decision forest: the loss {_LOSSES.Loss.Name(loss)} of boosted trees is not known"
        )
    link = links[loss]
    outputs = header.num_trees_per_iter if link == "softmax" else 1
    start = np.array(header.initial_predictions, np.float64)
    if outputs < 1 or start.size != outputs:
        raise InvalidArgumentError(
            f"decision forest: {outputs} outputs begin with {start.size} initial predictions"
        )
    if link in {"sigmoid", "softmax"}:
        classes = 2 if link == "sigmoid" else outputs
        if model.task != _TASKS.CLASSIFICATION or classes != _classes(model, columns):
            raise InvalidArgumentError(
                f"decision forest: the loss {_LOSSES.Loss.Name(loss)} has {classes} classes, the "
                f"label {_classes(model, columns)}"
            )
        # The output is the sums themselves, i.e. logits.
        if header.output_logits or not model.classification_outputs_probabilities:
            link = "none"
    return _Kind(header.num_trees, header.num_node_shards, 1, outputs, start, link, _regression)


def _classes(model: proto.ForestModel, columns: Columns) -> int:
    """The number of classes, without the one for out-of-vocabulary words."""
    label = columns.column(model.label_col_idx)
    return max(0, label.categorical.number_of_unique_values - 1)


def _averaged(
    model: proto.ForestModel, columns: Columns, header: proto.RandomForestHeader
) -> _Kind:
    outputs = 1
    link: Link = "mean"
    leaf: _Leaf = _regression
    if model.task == _TASKS.CLASSIFICATION:
        outputs, link = _classes(model, columns) + 1, "share"
        leaf = _votes(outputs) if header.winner_take_all_inference else _shares(outputs)
    elif model.task in {_TASKS.CATEGORICAL_UPLIFT, _TASKS.NUMERICAL_UPLIFT}:
        treatment = columns.column(model.uplift_treatment_col_idx)
        # Out-of-vocabulary words and the control group are not treatments.
        outputs = treatment.categorical.number_of_unique_values - 2
        leaf = _effects(outputs)
    elif model.task != _TASKS.REGRESSION:
        raise UnimplementedError(
            f"decision forest: random forests for {_TASKS.Task.Name(model.task)} are not known"
        )
    if not 1 <= outputs <= _MOST_VALUES:
        raise InvalidArgumentError(f"decision forest: a leaf cannot have {outputs} numbers")
    trees = _at_least_one(header.num_trees)
    return _Kind(trees, header.num_node_shards, outputs, 1, np.zeros(outputs), link, leaf)


def _votes(outputs: int) -> Callable[[proto.ForestNode, int], Any]:
    def leaf(node: proto.ForestNode, _depth: int) -> Any:
        row = np.zeros(outputs, np.float32)
        if not 0 <= node.classifier.top_value < outputs:
            raise InvalidArgumentError(
                f"decision forest: a leaf votes for class {node.classifier.top_value} of {outputs}"
            )
        row[node.classifier.top_value] = 1
        return row

    return leaf


def _shares(outputs: int) -> Callable[[proto.ForestNode, int], Any]:
    def leaf(node: proto.ForestNode, _depth: int) -> Any:
        counts = np.array(node.classifier.distribution.counts, np.float64)
        total = node.classifier.distribution.sum
        if counts.size != outputs or not total > 0:
            raise InvalidArgumentError(
                f"decision forest: a leaf has the shares of {counts.size} classes of {outputs}, "
                f"with a sum of {total}"
            )
        return counts / total

    return leaf


def _effects(outputs: int) -> Callable[[proto.ForestNode, int], Any]:
    def leaf(node: proto.ForestNode, _depth: int) -> Any:
        row = np.array(node.uplift.treatment_effect, np.float32)
        if row.size != outputs:
            raise InvalidArgumentError(
                f"decision forest: a leaf has the effects of {row.size} treatments of {outputs}"
            )
        return row

    return leaf


def _isolating(header: proto.IsolationForestHeader) -> _Kind:
    def leaf(node: proto.ForestNode, depth: int) -> float:
        return depth + mean_path(node.anomaly_detection.num_examples_without_weight)

    return _Kind(
        _at_least_one(header.num_trees),
        header.num_node_shards,
        1,
        1,
        np.zeros(1),
        "isolation",
        leaf,
        mean_path(header.num_examples_per_trees),
    )


def mean_path(examples: int) -> float:
    """The mean path to a leaf of a random tree of so many examples.

    Source:
        Liu, Ting, Zhou: Isolation Forest (2008), equation 1.
    """
    if examples <= 2:
        return float(examples == 2)
    return 2 * (math.log(examples - 1) + _EULER) - 2 * (examples - 1) / examples


def _labels(model: proto.ForestModel, columns: Columns, kind: _Kind) -> tuple[bytes, ...]:
    """The names of the predicted classes, or empty ones."""
    if model.task != _TASKS.CLASSIFICATION:
        return (b"",) * kind.outputs
    classes = _classes(model, columns)
    if classes == 2 and not model.classification_outputs_probabilities:
        return (b"logit",)
    label = columns.column(model.label_col_idx).categorical
    if label.is_already_integerized:
        return tuple(str(k + 1).encode() for k in range(classes))
    names = {item.value.index: item.key for item in label.items}
    return tuple(names.get(k + 1, f"NA({k + 1})".encode()) for k in range(classes))


class _Reader:
    """Collects nodes, and converts them to arrays."""

    def __init__(self, columns: Columns, kind: _Kind) -> None:
        self._columns = columns
        self._of = kind
        # Per node: kind, column, threshold, missing, positive, start, terms.
        self._rows: list[list[Any]] = []
        self._roots: list[int] = []
        self._slots: list[int] = []
        self._values: list[Any] = []
        self._bits: list[Array] = []
        self._bit_count = 0
        self._weights: list[tuple[int, float, float]] = []
        self._depth = 0

    def forest(self, read: Callable[[str], bytes], labels: tuple[bytes, ...]) -> Forest:
        """The forest of all nodes in all shards."""
        self._read(_nodes(read, self._of.shards))
        if len(self._roots) != self._of.trees:
            raise InvalidArgumentError(
                f"decision forest: {len(self._roots)} trees were found, the header "
                f"states {self._of.trees}"
            )
        rows = list(zip(*self._rows, strict=True)) or [()] * 7
        dtypes = (np.uint8, np.int32, np.float32, np.bool_, np.int32, np.int64, np.int32)
        whole: list[Array] = [np.array(x, dtype) for x, dtype in zip(rows, dtypes, strict=True)]
        weights = list(zip(*self._weights, strict=True)) or [()] * 3
        kind, column, threshold, missing, positive, start, terms = whole
        nodes = Nodes(
            kind,
            column,
            threshold,
            missing,
            positive,
            start,
            terms,
            np.packbits(np.concatenate([*self._bits, np.zeros(1, bool)]), bitorder="little"),
            np.array(weights[0], np.int32),
            np.array(weights[1], np.float32),
            np.array(weights[2], np.float32),
        )
        values = np.array(self._values, np.float32).reshape(len(self._values), self._of.outputs)
        return Forest(
            nodes=nodes,
            roots=np.array(self._roots, np.int32),
            depth=self._depth,
            slots=np.array(self._slots, np.int32),
            values=values,
            stride=self._of.stride,
            start=self._of.start,
            link=self._of.link,
            denominator=self._of.denominator,
            labels=labels,
            cuts=self._columns.cuts(self._columns.categorical),
            set_cuts=self._columns.cuts(self._columns.sets),
        )

    def _read(self, found: Iterator[proto.ForestNode]) -> None:
        depths: list[int] = []
        # Nodes whose positive child has not been read yet.
        waiting: list[int] = []
        is_root, depth = True, 0
        for index, node in enumerate(found):
            if is_root:
                if len(self._roots) == self._of.trees:
                    raise InvalidArgumentError(
                        f"decision forest: nodes follow the last of {self._of.trees} trees"
                    )
                self._roots.append(index)
                is_root, depth = False, 0
            depths.append(depth)
            if node.HasField("condition"):
                self._rows.append(self._condition(node.condition))
                self._slots.append(-1)
                waiting.append(index)
                depth += 1
                continue
            self._leaf(node, index, depth)
            if waiting:
                parent = waiting.pop()
                self._rows[parent][4] = index + 1
                depth = depths[parent] + 1
            else:
                is_root = True
        if waiting or not is_root:
            raise DataLossError("decision forest: the nodes end inside of a tree")
        self._depth = max(depths, default=0)

    def _leaf(self, node: proto.ForestNode, index: int, depth: int) -> None:
        if (len(self._values) + 1) * self._of.outputs > _MOST_VALUES:
            raise InvalidArgumentError(
                f"decision forest: its leaves have more than {_MOST_VALUES} numbers"
            )
        self._rows.append([kinds.LEAF, 0, 0.0, False, index, 0, 0])
        self._slots.append(len(self._values))
        self._values.append(self._of.leaf(node, depth))

    def _condition(self, node: proto.ForestNodeCondition) -> list[Any]:
        """A row of the arrays, whose positive child is still unknown."""
        form = node.condition.WhichOneof("type")
        if form == "oblique_condition":
            return self._oblique(node)
        column, place, is_set = self._columns.place(node.attribute)
        is_number = column.type in {
            _TYPES.NUMERICAL,
            _TYPES.BOOLEAN,
            _TYPES.DISCRETIZED_NUMERICAL,
        }
        missing = node.na_value
        if form == "na_condition":
            kind = kinds.MISSING_SET if is_set else kinds.MISSING_CATEGORY
            return [kinds.MISSING if is_number else kind, place, 0.0, True, 0, 0, 0]
        if form in {"contains_condition", "contains_bitmap_condition"} and not is_number:
            start = self._contained(column, node.condition)
            kind = kinds.CONTAINS_ANY if is_set else kinds.CONTAINS
            return [kind, place, 0.0, missing, 0, start, 0]
        if is_number:
            threshold = _threshold(form, column, node.condition)
            if threshold is not None:
                return [kinds.HIGHER, place, threshold, missing, 0, 0, 0]
        raise UnimplementedError(
            f"decision forest: a condition {form} of {_name(column)}, a column of type "
            f"{_TYPES.Type.Name(column.type)}, is not known"
        )

    def _contained(self, column: proto.DataColumn, condition: Any) -> int:
        """The index of the first bit of the set of contained categories."""
        size = column.categorical.number_of_unique_values
        if condition.HasField("contains_bitmap_condition"):
            packed = np.frombuffer(condition.contains_bitmap_condition.elements_bitmap, np.uint8)
            bits = np.unpackbits(packed, bitorder="little").astype(bool)
            if not 0 <= size <= bits.size:
                raise InvalidArgumentError(
                    f"decision forest: {_name(column)} has {size} categories, a condition tells of "
                    f"{bits.size}"
                )
            bits = bits[:size]
        else:
            elements = np.array(condition.contains_condition.elements, np.int64)
            if not 0 <= size <= _MOST_VALUES or ((elements < 0) | (elements >= size)).any():
                raise InvalidArgumentError(
                    f"decision forest: a condition of {_name(column)} asks for a category beyond "
                    f"{size}"
                )
            bits = np.zeros(size, bool)
            bits[elements] = True
        start = self._bit_count
        self._bits.append(bits)
        self._bit_count += bits.size
        if self._bit_count > 8 * _MOST_VALUES:
            raise InvalidArgumentError("decision forest: its conditions take too much memory")
        return start

    def _oblique(self, node: proto.ForestNodeCondition) -> list[Any]:
        of = node.condition.oblique_condition
        count = len(of.attributes)
        if len(of.weights) != count or len(of.na_replacements) not in {0, count} or not count:
            raise InvalidArgumentError(
                f"decision forest: an oblique condition has {count} columns, {len(of.weights)} "
                f"weights and {len(of.na_replacements)} replacements"
            )
        start = len(self._weights)
        replacements = of.na_replacements or [math.nan] * count
        for index, weight, instead in zip(of.attributes, of.weights, replacements, strict=True):
            column, place, _ = self._columns.place(index)
            if column.type != _TYPES.NUMERICAL:
                raise InvalidArgumentError(
                    f"decision forest: an oblique condition uses {_name(column)}, which is no "
                    "number"
                )
            self._weights.append((place, weight, instead))
        return [kinds.OBLIQUE, 0, of.threshold, node.na_value, 0, start, count]


def _threshold(form: str | None, column: proto.DataColumn, condition: Any) -> float | None:
    """The threshold of a condition; None if it is of another kind."""
    if form == "higher_condition" and column.type == _TYPES.NUMERICAL:
        return float(condition.higher_condition.threshold)
    if form == "true_value_condition" and column.type == _TYPES.BOOLEAN:
        return 0.5
    if form == "discretized_higher_condition" and column.type == _TYPES.DISCRETIZED_NUMERICAL:
        # A bucket's number is the count of boundaries at or below the value.
        bucket = condition.discretized_higher_condition.threshold
        boundaries = column.discretized_numerical.boundaries
        if bucket <= 0:
            return -math.inf
        return boundaries[bucket - 1] if bucket <= len(boundaries) else math.nan
    return None


def _nodes(read: Callable[[str], bytes], shards: int) -> Iterator[proto.ForestNode]:
    for shard in range(shards):
        name = f"nodes-{shard:05d}-of-{shards:05d}"
        data = read(name)
        most = min(_MOST_BYTES, _MOST_EXPANSION * len(data) + (1 << 20))
        for blob in blobs(data, name, most):
            try:
                yield proto.ForestNode.FromString(blob)
            except DecodeError as error:
                raise DataLossError(
                    f"decision forest: a node of {name} is damaged: {error}"
                ) from None
