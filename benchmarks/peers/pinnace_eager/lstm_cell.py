"""The same without tracing: what `function` wins."""

import pinnace as tf
from harness import Work
from lstm import cell_work


def theirs() -> Work:
    return cell_work(tf, rows=10, units=10, traced=False)
