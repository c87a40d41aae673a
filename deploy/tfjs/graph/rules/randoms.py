"""Random numbers: drawn by TensorFlow.js itself, where that is allowed."""

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule

REASON = (
    "draws random numbers, other ones in each run, and TensorFlow.js others than TensorFlow; allow "
    "it with allow_random=True (--allow-random)"
)


@rule("RandomUniformInt")
def whole(r: Rewrite) -> None:
    """TensorFlow.js looks for its limits where TensorFlow does not write them."""
    r.needs(False, "takes its limits as inputs, which TensorFlow.js does not read")
