"""A traced Keras LSTM layer of 64 units: 32 rows, 50 steps."""

from harness import Case, Work
from recurrent_layer import forward_work

CASE = Case(
    title="LSTM layer, 32 rows, 50 steps, 64 units, traced",
    aims={"tensorflow": 1.0},
    warm_up_s=10.0,
)


def ours() -> Work:
    import pinnace as tf

    return forward_work(tf)
