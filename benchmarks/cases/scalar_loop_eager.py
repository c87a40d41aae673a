"""The loop of `scalar_loop` as Python runs it: four eager ops and a comparison a step."""

from cases.scalar_loop import work
from harness import Case, Work

CASE = Case(
    title="10,000 scalar steps of a while loop, eagerly",
    aims={"tensorflow": 1.0},
    sample_s=0.1,
    repeats=3,
    rounds=5,
)


def ours() -> Work:
    import pinnace as tf

    return work(tf, traced=False)
