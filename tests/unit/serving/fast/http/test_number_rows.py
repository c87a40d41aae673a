"""Bodies read by machine code are decoded as by the full rules, and others are left to them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.codegen import kernels
from pinnace.framework import config
from pinnace.serving.fast.http import number_rows, parsed_rows
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
            "serving_default": echo("float32", shape=[None, 2]),
            "any": echo("float32"),
            "plain": echo("float32", shape=[None]),
            "double": echo("float64"),
            "two": sum_and_difference(),
        }
    ),
)


ROWS = st.one_of(
    st.lists(st.lists(st.floats(width=32), min_size=2, max_size=2), min_size=1, max_size=5),
    st.lists(st.floats(-10, 10), min_size=1, max_size=5),
    st.lists(st.lists(st.integers(0, 255), max_size=3), max_size=3),
)


@given(
    ROWS,
    st.sampled_from([None, "serving_default", "any", "plain", "double", "two", "none"]),
    st.booleans(),
    st.sampled_from([None, 0, 1]),
)
def test_both_ways_agree(value: object, name: str | None, is_first: bool, indent: int) -> None:
    pairs = {"instances": value} if name is None else {"instances": value, "signature_name": name}
    body = json.dumps({key: pairs[key] for key in sorted(pairs, reverse=is_first)}, indent=indent)
    found = number_rows.read_rows(SERVABLE, body.encode())
    behind = number_rows.read_rows(SERVABLE, b"[[head]]" + body.encode(), 8)
    assert (found is None) == (behind is None)
    if found is not None and behind is not None:
        assert (found[0], found[1].raw, found[1].rows) == (
            behind[0],
            behind[1].raw,
            behind[1].rows,
        )
    if found is None:
        return
    call = parse_predict(body.encode())
    assert found[0] == call.signature_name
    feeds = decode_feeds(call, SERVABLE.signature(call.signature_name).inputs)
    assert found[1]["x"].dtype == np.float32
    np.testing.assert_array_equal(found[1]["x"], feeds["x"])


def test_what_clients_send_is_read_here() -> None:
    for body in (
        b'{"instances":[[1,2.5],[3e-1,-4]]}',
        b' { "instances" : [ [ 1 , 2 ] ] } \n',
        b'{"signature_name":"any","instances":[[[1,2]]]}'.replace(b"[[[1,2]]]", b"[[1,2,3]]"),
        b'{"instances":[1,2],"signature_name":"plain"}',
    ):
        assert number_rows.read_rows(SERVABLE, body) is not None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"instances":[[1,2]]',
        b'{"instances":[[1,2]]} more',
        b'{"instances":[[1,2]],"instances":[[3,4]]}',
        b'{"signature_name":"any","instances":[[1,2]],"signature_name":"any"}',
        b'{"instances":[[1,2]],"other":1}',
        b'{"inputs":[[1,2]]}',
        b'{"instances":[[1,2,3]]}',
        b'{"instances":[1,2]}',
        b'{"instances":[[1,2]],"signature_name":"double"}',
        b'{"instances":[[1,2]],"signature_name":"none"}',
        b'{"instances":[[1,2]],"signature_name":"\\u0061ny"}',
    ],
)
def test_the_rest_is_left_to_the_full_rules(body: bytes) -> None:
    assert number_rows.read_rows(SERVABLE, body) is None


def test_memory_of_large_bodies_is_not_kept() -> None:
    body = json.dumps({"instances": [[0.5, 0.25]] * 600_000}).encode()
    found = number_rows.read_rows(SERVABLE, body)
    assert found is not None
    assert found[1].rows == 600_000
    assert len(number_rows._SCRATCH.kept[0]) <= number_rows._KEPT_NUMBERS


@pytest.mark.parametrize("parsers", [parsed_rows._PARSERS, None])
@pytest.mark.parametrize("change", ["no library", "no fusion", "plan", "nothing"])
def test_the_reader_is_used_from_the_first_body_where_it_is(
    change: str, parsers: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are the same with simdjson and without a wheel of it."""
    monkeypatch.setattr(parsed_rows, "_PARSERS", parsers)
    if change == "no library":
        monkeypatch.setattr(kernels, "_functions", {})
    if change == "no fusion":
        monkeypatch.setattr(config.settings, "fusion", False)
    if change == "plan":
        monkeypatch.setattr(config.settings, "tier", "plan")
    body = b'{"instances":[[1,2.5],[3e-1,-4]]}'
    assert (number_rows.read_rows(SERVABLE, body) is None) == (change != "nothing")
    call = RowsPredict().decode(SERVABLE, body, {})
    np.testing.assert_array_equal(call.feeds["x"], np.array([[1, 2.5], [0.3, -4]], np.float32))
