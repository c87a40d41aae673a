"""A loaded perceptron's signature, one row."""

from harness import Case, Work
from inference import work

CASE = Case(
    title="inference, MLP 784-512-512-10, 1 row",
    aims={"tensorflow": 1.0},
    model="perceptron",
    sample_s=0.05,
    repeats=9,
)


def ours() -> Work:
    import pinnace as tf

    return work(tf, "perceptron")
