"""Ragged and sparse tensors give what TensorFlow gives, outside of functions and inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pinnace as tf
from golden.composites.calls import CALLS, environment, plain
from golden.composites.examples import answers
from pinnace.proto import example_pb2
from support.golden import golden

RESULTS: dict[str, Any] = json.loads(golden("composites/results.json").read_text())


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return environment(tf)


@pytest.mark.parametrize("text", CALLS)
def test_an_expression_gives_what_tensorflow_gave(text: str, names: dict[str, Any]) -> None:
    assert plain(eval(text, names)) == RESULTS[text]


PARSED: dict[str, Any] = json.loads(golden("composites/examples.json").read_text())


def test_examples_are_parsed_as_tensorflow_parses_them() -> None:
    assert answers(tf, example_pb2, plain) == PARSED
