"""A loaded LSTM layer of 64 units over 50 steps, one row."""

from harness import Case, Work
from inference import work

CASE = Case(
    title="inference, LSTM(64), 50 steps, 1 row",
    aims={"tensorflow": 1.0},
    model="lstm",
    sample_s=0.05,
    repeats=9,
)


def ours() -> Work:
    import pinnace as tf

    return work(tf, "lstm")
