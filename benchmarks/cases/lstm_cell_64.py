"""An LSTM cell of 64 units on 64 rows, traced."""

from harness import Case, Work
from lstm import cell_work

CASE = Case(title="LSTM cell, 10 steps of 64 rows and units, traced", aims={"tensorflow": 1.0})


def ours() -> Work:
    import pinnace as tf

    return cell_work(tf, rows=64, units=64, traced=True)
