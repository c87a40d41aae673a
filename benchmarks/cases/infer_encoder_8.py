"""A loaded encoder of four transformer blocks, 8 rows of 128 tokens."""

from harness import Case, Work
from inference import work

CASE = Case(
    title="inference, transformer encoder, 8 rows",
    aims={"tensorflow": 1.0},
    model="encoder",
    sample_s=0.05,
    repeats=9,
)


def ours() -> Work:
    import pinnace as tf

    return work(tf, "encoder", rows=8)
