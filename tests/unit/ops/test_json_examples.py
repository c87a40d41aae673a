"""JSON of Example messages is converted to protobuf's bytes."""

import numpy as np
import pytest
from google.protobuf import json_format
from hypothesis import example, given
from hypothesis import strategies as st

import pinnace as tf

FEATURES = st.dictionaries(
    st.text(max_size=4),
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1)).map(
            lambda x: tf.train.Feature(int64_list=tf.train.Int64List(value=x))
        ),
        st.lists(st.floats(width=32, allow_nan=False)).map(
            lambda x: tf.train.Feature(float_list=tf.train.FloatList(value=x))
        ),
        st.lists(st.binary(max_size=5)).map(
            lambda x: tf.train.Feature(bytes_list=tf.train.BytesList(value=x))
        ),
    ),
    max_size=3,
)


@example(rows=[{"a": tf.train.Feature(float_list=tf.train.FloatList(value=[3.4028235e38]))}])
@given(rows=st.lists(FEATURES, max_size=3))
def test_a_message_comes_back(rows):
    examples = [tf.train.Example(features=tf.train.Features(feature=row)) for row in rows]
    texts = np.array([json_format.MessageToJson(x) for x in examples], object)
    found = tf.io.decode_json_example(tf.constant(texts, tf.string))
    assert [tf.train.Example.FromString(x) for x in found.numpy().tolist()] == examples


def test_what_is_no_example_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
        tf.io.decode_json_example("{")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
        tf.io.decode_json_example('{"other": 1}')
    with pytest.raises(tf.errors.InvalidArgumentError, match="given twice"):
        tf.io.decode_json_example('{"features": {}, "features": {}}')
    too_large = '{"features": {"feature": {"a": {"floatList": {"value": [3.5e38]}}}}}'
    with pytest.raises(tf.errors.InvalidArgumentError, match="Float value too large"):
        tf.io.decode_json_example(too_large)
