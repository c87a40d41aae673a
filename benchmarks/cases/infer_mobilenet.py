"""A loaded MobileNetV2, one image of 224x224."""

from harness import Case, Work
from inference import work

CASE = Case(
    title="inference, MobileNetV2, 1 image",
    aims={"tensorflow": 3.0},
    model="mobilenet_v2",
    sample_s=0.05,
    repeats=9,
)


def ours() -> Work:
    import pinnace as tf

    return work(tf, "mobilenet_v2")
