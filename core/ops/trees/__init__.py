"""Trees that vote: the ops BoostedTrees… of inference."""

from pinnace.ops.trees import boosted as boosted
from pinnace.ops.trees import quantiles as quantiles
