"""Rules of ops that reduce axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.distribute.dtensor.layout import UNSHARDED
from pinnace.distribute.dtensor.propagation.calls import normalized, rule_of, whole

if TYPE_CHECKING:
    from pinnace.distribute.dtensor.propagation.calls import Call, Specs


@rule_of("Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "EuclideanNorm", "L2Loss")
def reduce(call: Call) -> Specs:
    """The axes that stay; one that is kept with size 1 is whole."""
    if not call.sizes[0]:
        return ()
    first, axes = call.inputs
    if axes.value is None:
        return whole(len(call.sizes[0]))
    gone = normalized(axes.value.ravel().tolist(), first.rank)
    if call.attr("keep_dims"):
        return tuple(UNSHARDED if axis in gone else s for axis, s in enumerate(first.specs))
    return tuple(spec for axis, spec in enumerate(first.specs) if axis not in gone)


@rule_of("ArgMax", "ArgMin")
def argmax(call: Call) -> Specs:
    """The axes that stay."""
    first, axis = call.inputs
    if axis.value is None:
        return whole(len(call.sizes[0]))
    gone = normalized([int(axis.value)], first.rank)
    return tuple(spec for index, spec in enumerate(first.specs) if index not in gone)


@rule_of("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd")
def segments(call: Call) -> Specs:
    """The segments are whole; the axes within them stay as they are."""
    data, ids = call.inputs[:2]
    return (UNSHARDED, *data.specs[ids.rank :])
