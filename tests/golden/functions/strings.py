"""Calls of tf.strings."""

import numpy as np

from golden.functions.calls import Call

TEXTS = np.array(["", "a", "seven b", "eight by", "nine bytes", "höher, über 16 bytes"], object)
PAIRS = np.array([["a", "b"], ["c", "d"], ["e", "f"]], object)
MANY = np.arange(24).reshape(8, 3)
CALLS = [
    Call("strings.bytes_split", (TEXTS,)),
    Call("strings.bytes_split", (PAIRS,)),
    *(Call("strings.to_hash_bucket", (TEXTS, size)) for size in (1, 10, 2**40)),
    Call("strings.unsorted_segment_join", (PAIRS, np.array([1, 0, 1]), 3, ":")),
    Call("strings.unsorted_segment_join", (PAIRS, np.array([[1, 0], [1, 1], [0, 0]]), 2)),
    Call("strings.format", ("x {} y {}", (MANY, np.array(2.5)))),
    Call("strings.format", ("x % y", MANY), {"placeholder": "%", "summarize": 1}),
    Call("strings.format", ("{}", np.array(["a", "b"], object)), {"summarize": -1}),
]
