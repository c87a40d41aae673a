"""Decision forests: BoostedTrees… of TensorFlow 1, SimpleML… of TensorFlow Decision Forests."""

from pinnace.ops.trees import boosted as boosted
from pinnace.ops.trees import decision_forests as decision_forests
from pinnace.ops.trees import quantiles as quantiles
