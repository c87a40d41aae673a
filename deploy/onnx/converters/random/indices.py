"""Single places of a random permutation."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "encrypts a number until it falls into a range: a loop over the bits of words of any width, "
    "for which there is no converter",
    "RandomIndexShuffle",
)
