"""Rules of ops that go element by element, and of those whose output is like their first input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.distribute.dtensor.layout import UNSHARDED
from pinnace.distribute.dtensor.propagation.calls import distinct, merged, rule_of

if TYPE_CHECKING:
    from pinnace.distribute.dtensor.propagation.calls import Call, Specs


@rule_of("AddV2", "AddN", "Select", "SelectV2", "ClipByValue")
def broadcast(call: Call) -> Specs:
    """The operands' specs, merged axis by axis."""
    rank = len(call.sizes[0])
    return merged(rank, [one.specs for one in call.inputs if one.rank <= rank])


@rule_of("Softmax", "LogSoftmax", "Identity", "StopGradient", "PreventGradient", "CheckNumerics")
@rule_of("ZerosLike", "OnesLike", "Cast", "Bitcast", "ReadVariableOp", "EnsureShape", "Snapshot")
@rule_of("StaticRegexReplace", "StaticRegexFullMatch", "Bucketize")
def like_first(call: Call) -> Specs:
    """The specs of the first input."""
    return call.inputs[0].specs


@rule_of("IdentityN")
def like_each(call: Call) -> list[Specs]:
    """Each output is like the input of that place."""
    return [one.specs for one in call.inputs]


@rule_of("BiasAdd")
def bias_add(call: Call) -> Specs:
    """The value's specs; the axis of the bias may be divided as that is."""
    value, bias = call.inputs
    axis = 1 if call.attr("data_format") in {"NCHW", b"NCHW"} else value.rank - 1
    specs = list(value.specs)
    if specs[axis] == UNSHARDED and bias.specs[0] not in specs:
        specs[axis] = bias.specs[0]
    return tuple(specs)


@rule_of("BiasAddGrad")
def bias_add_grad(call: Call) -> Specs:
    """The spec of the axis that stays."""
    first = call.attr("data_format") in {"NCHW", b"NCHW"}
    return (call.inputs[0].specs[1 if first else -1],)


@rule_of("RelayoutLike")
def relayout_like(call: Call) -> Specs:
    """The specs of the second input."""
    return call.inputs[1].specs


@rule_of("Cumsum", "Cumprod", "CumulativeLogsumexp")
def cumulate(call: Call) -> Specs:
    """All but the axis that is added up."""
    first, axis = call.inputs[:2]
    if axis.value is None:
        return (UNSHARDED,) * first.rank
    gone = int(axis.value) % max(first.rank, 1)
    return tuple(UNSHARDED if index == gone else s for index, s in enumerate(first.specs))


@rule_of("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(call: Call) -> list[Specs]:
    """A loss for each row, and the gradient like the features."""
    rows = merged(2, [one.specs for one in call.inputs])
    return [rows[:1], (rows[0], UNSHARDED)]


@rule_of("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(call: Call) -> list[Specs]:
    """A loss for each row, and the gradient like the features."""
    features, labels = call.inputs
    rows = merged(1, [features.specs[:1], labels.specs])
    return [rows, (rows[0], UNSHARDED)]


@rule_of("TopKV2", "InTopK", "InTopKV2")
def top_k(call: Call) -> Specs:
    """Rows may be divided; what is sorted is not."""
    first = call.inputs[0].specs
    return (*first[:-1], UNSHARDED)[: len(call.sizes[0])]


@rule_of("OneHot")
def one_hot(call: Call) -> Specs:
    """The indices' specs with a new axis."""
    specs = list(call.inputs[0].specs)
    axis = int(call.attr("axis"))
    specs.insert(len(specs) if axis < 0 else axis, UNSHARDED)
    return distinct(specs)
