"""Random numbers, drawn by TensorFlow.js itself if that is allowed."""

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule

REASON = (
    "draws random numbers, for which TensorFlow.js has another generator; allow "
    "it with allow_random=True (--allow-random)"
)


@rule("RandomUniformInt")
def whole(r: Rewrite) -> None:
    """Refuse random integers: TensorFlow.js looks for the limits in attributes."""
    r.needs(False, "takes its limits as inputs, which TensorFlow.js does not read")
