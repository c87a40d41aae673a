"""The dynamic RNN of "Effective TensorFlow 2": 50 steps of 32 rows, 64 units."""

from harness import Case, Work
from lstm import dynamic_work

CASE = Case(
    title="dynamic RNN, 50 steps, 32 rows, 64 units", aims={"tensorflow": 1.0}, warm_up_s=10.0
)


def ours() -> Work:
    import pinnace as tf

    return dynamic_work(tf, rows=32, steps=50, units=64)
