"""A traced training step of a Keras LSTM layer of 64 units: 32 rows, 50 steps."""

from harness import Case, Work
from recurrent_layer import step_work

CASE = Case(
    title="LSTM layer's training step, 32 rows, 50 steps", aims={"tensorflow": 1.0}, warm_up_s=10.0
)


def ours() -> Work:
    import pinnace as tf

    return step_work(tf, "LSTM")
