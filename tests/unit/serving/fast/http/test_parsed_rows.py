"""The fast parser of numbers gives the results of the full rules, or declines."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import OpError
from pinnace.serving.fast.http import parsed_rows
from pinnace.serving.fast.http.parsed_rows import parse_rows
from pinnace.serving.fast.http.predict import RowsPredict
from pinnace.serving.http.json_tensors import decode_feeds, parse_predict
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from unit.serving.numpy_models import echo, sum_and_difference

SERVABLE = Servable(
    "m",
    1,
    LoadedModel(
        {
            "serving_default": echo("float32"),
            "double": echo("float64"),
            "whole": echo("int32"),
            "two": sum_and_difference(),
            "5": echo("float32"),
        }
    ),
)
NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=True, allow_infinity=True))
LEAVES = st.one_of(NUMBERS, NUMBERS, NUMBERS, st.booleans(), st.none(), st.text(max_size=3))
NESTED = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4), max_leaves=12)
MATRICES = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1, max_size=4)
)
NAMES = st.sampled_from(["serving_default", "double", "whole", "two", "a[b", "other"])
needs_simdjson = pytest.mark.skipif(
    not parsed_rows.is_available(), reason="simdjson has no wheel for this Python"
)


@needs_simdjson
@given(st.one_of(MATRICES, st.lists(NUMBERS, min_size=1, max_size=5), NESTED), NAMES, st.booleans())
def test_both_ways_agree(value: object, name: str, is_first: bool) -> None:
    pairs = {"signature_name": name, "instances": value}
    keys = sorted(pairs, reverse=is_first)
    body = json.dumps({key: pairs[key] for key in keys}).encode()
    found = parse_rows(SERVABLE, body)
    if found is None:
        return
    call = parse_predict(body)
    feeds = decode_feeds(call, SERVABLE.signature(call.signature_name).inputs)
    assert found[0] == call.signature_name
    assert found[1].keys() == feeds.keys()
    for key, array in feeds.items():
        assert found[1][key].dtype == array.dtype
        np.testing.assert_array_equal(found[1][key], array)


@needs_simdjson
@given(MATRICES)
def test_matrices_of_finite_numbers_take_the_fast_way(value: list[list[float]]) -> None:
    if not all(np.isfinite(float(x)) and abs(x) < 2**63 for row in value for x in row):
        return
    body = json.dumps({"instances": value}).encode()
    assert parse_rows(SERVABLE, body) is not None


@pytest.mark.parametrize("body", [b"", b"[", b'{"instances":', b'{"instances":[1', b"\x00"])
def test_what_is_no_json_is_refused_by_the_full_rules(body: bytes) -> None:
    assert parse_rows(SERVABLE, body) is None
    with pytest.raises(OpError):
        RowsPredict().decode(SERVABLE, body, {})


@needs_simdjson
def test_the_name_of_a_signature_is_text() -> None:
    assert parse_rows(SERVABLE, b'{"instances":[1],"signature_name":"5"}')
    assert parse_rows(SERVABLE, b'{"instances":[1],"signature_name":5}') is None


def test_everything_is_decoded_without_simdjson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_rows, "_PARSERS", None)
    decoded = RowsPredict().decode(SERVABLE, b'{"instances":[[1,2]]}', {})
    np.testing.assert_array_equal(decoded.feeds["x"], np.float32([[1, 2]]))
