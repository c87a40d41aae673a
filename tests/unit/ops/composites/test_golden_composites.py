"""Ragged and sparse tensors give TensorFlow's results, outside functions and inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pinnace as tf
from golden.composites.calls import CALLS, environment, plain
from golden.composites.examples import answers
from pinnace.proto import example_pb2
from support.each import holds_for_each
from support.golden import golden

RESULTS: dict[str, Any] = json.loads(golden("composites/results.json").read_text())


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return environment(tf)


def test_expressions_give_what_tensorflow_gave(names: dict[str, Any]) -> None:
    def gives_it(text: str) -> None:
        assert plain(eval(text, names)) == RESULTS[text]

    holds_for_each(CALLS, gives_it)


PARSED: dict[str, Any] = json.loads(golden("composites/examples.json").read_text())


def test_examples_are_parsed_as_tensorflow_parses_them() -> None:
    assert answers(tf, example_pb2, plain) == PARSED
