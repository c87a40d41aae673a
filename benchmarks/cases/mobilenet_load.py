"""Opening the SavedModel of a MobileNetV2; nothing is run."""

import networks
from harness import Case, Work

CASE = Case(
    title="SavedModel load, MobileNetV2",
    aims={"tensorflow": 0.15},
    model="mobilenet_v2",
    sample_s=0.1,
    repeats=3,
    rounds=5,
)


def work(tf: object) -> Work:
    """The same program for both libraries."""
    folder = str(networks.folder("mobilenet_v2") / "model")

    def check() -> None:
        assert "serving_default" in tf.saved_model.load(folder).signatures

    return Work(run=lambda: tf.saved_model.load(folder), check=check)


def ours() -> Work:
    import pinnace as tf

    return work(tf)
