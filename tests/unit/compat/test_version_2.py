"""`tf.compat.v2` has the names of version 2, the same as those of the package."""

import pytest

import pinnace as tf
import pinnace.compat.v2 as v2


def test_its_names_are_those_of_the_package() -> None:
    assert v2 is tf.compat.v2
    assert v2.keras is tf.keras
    assert v2.constant is tf.constant
    assert v2.compat.v1 is tf.compat.v1
    assert v2.__version__ == tf.__version__
    assert set(dir(v2)) == set(dir(tf))
    v2.enable_v2_behavior()


def test_what_is_missing_says_why() -> None:
    with pytest.raises(AttributeError, match="TPU"):
        _ = v2.tpu
