"""An LSTM cell of 10 units on 10 rows, traced: the guide's example of what tracing wins."""

from harness import Case, Work
from lstm import cell_work

CASE = Case(
    title="LSTM cell, 10 steps of 10 rows, traced",
    aims={"tensorflow": 1.0, "pinnace_eager": 1.0},
    warm_up_s=5.0,
)


def ours() -> Work:
    import pinnace as tf

    return cell_work(tf, rows=10, units=10, traced=True)
