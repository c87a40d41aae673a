"""Cases of core/ops/strings/hashing.py: tables of published hashes."""

import numpy as np
from hypothesis import strategies as st

from cases.strings.joining import arrays_of, each
from support.opcase import OpCase

# FarmHash's fingerprints in TensorFlow's string_to_hash_bucket_op_test.py, Guava's and Airship's.
FARM = {
    b"a": 12917804110809363939,
    b"b": 11795596070477164822,
    b"test": 8581389452482819506,
    b"test" * 8: -4196240717365766262,
    b"test" * 64: 3500507768004279527,
    b"F7479877-4690-4A44-AFC9-8FE987EA512F:some_other_id": 6862335115798125349,
}
# Buckets of ten under the key 98765, 132: TensorFlow's string_to_hash_bucket_op_test.py.
STRONG = {b"a": 4, b"b": 2, b"c": 8}
# TensorFlow 2.21's buckets of 2**62.
OLD = {
    b"a": 2996632905371535868,
    b"seven b": 1486130433742771872,
    b"eight by": 225863739955395532,
    b"nine bytes": 3456562659857773469,
    b"test" * 8: 4605397738121407363,
}

CASES = [
    OpCase(
        "StringToHashBucket",
        arrays_of(st.sampled_from(list(OLD))),
        each(lambda item: OLD[item], np.int64),
        attrs={"num_buckets": 2**62},
    ),
    OpCase(
        "StringToHashBucketFast",
        arrays_of(st.sampled_from(list(FARM))),
        each(lambda item: FARM[item] % 2**64 % 1000, np.int64),
        attrs={"num_buckets": 1000},
    ),
    OpCase(
        "StringToHashBucketStrong",
        arrays_of(st.sampled_from(list(STRONG))),
        each(lambda item: STRONG[item], np.int64),
        attrs={"num_buckets": 10, "key": (98765, 132)},
    ),
]
