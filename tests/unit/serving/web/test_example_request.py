import json
import shlex
import subprocess

import numpy as np
import pytest

from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from pinnace.serving.web.example_request import example_command, example_of
from unit.serving.memory_server import Server
from unit.serving.numpy_models import (
    NumpyModel,
    digits,
    echo,
    half_plus_two,
    sum_and_difference,
    total,
)

URL = "http://localhost:8501"


def command(model: NumpyModel, signature: str = "serving_default") -> str | None:
    return example_command(Servable("m", 1, LoadedModel({signature: model})), URL)


def body_of(line: str) -> object:
    """The body that a command sends: its -d argument, or its program's output."""
    words = shlex.split(line)
    if "|" not in words:
        return json.loads(words[words.index("-d") + 1])
    program = words[: words.index("|")]
    return json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


def test_a_line_is_short_and_complete() -> None:
    assert command(half_plus_two()) == (
        f"""curl -s {URL}/v1/models/m:predict -d '{{"instances":[0]}}'"""
    )


@pytest.mark.parametrize(
    ("model", "signature"),
    [
        (half_plus_two(), "serving_default"),
        (digits(), "digits"),
        (sum_and_difference(), "two"),
        (total(), "total"),
        (echo("string"), "echo_string"),
        (echo("bool", shape=[None, 3]), "echo_bool"),
        (echo("int64", shape=[]), "echo_int64"),
        (echo("float32", shape=[None, 224, 224, 3]), "echo_float32"),
        (echo("string", shape=[None, 300]), "echo_string"),
        (echo("bool", shape=[2, 300]), "echo_bool"),
    ],
)
def test_the_line_is_answered(server: Server, model: NumpyModel, signature: str) -> None:
    line = command(model, signature)
    assert line is not None
    assert len(line) < 600
    reply = server.predict(json.dumps(body_of(line)))
    assert reply.status_code == 200, reply.text


def test_there_is_none_where_json_has_no_form() -> None:
    assert command(echo("float16")) is None
    assert command(half_plus_two(), "__saved_model_init_op") is None


def test_a_request_that_the_model_answered_is_the_better_example() -> None:
    servable = Servable("m", 1, LoadedModel({"two": sum_and_difference(), "text": echo("string")}))
    servable.examples["two"] = {
        "a": np.float32([[0.1, 2], [5, 6]]),
        "b": np.float32([[-1e-7, 3.5], [7, 8]]),
    }
    example = example_of(servable, "two")
    assert example is not None
    row = {"a": [0.1, 2], "b": [-1e-7, 3.5]}
    assert example.document() == {"signature_name": "two", "instances": [row]}
    assert isinstance(row["a"][1], int)
    line = example_command(servable, URL)
    assert line is not None
    for unwritable in (b"\xff", float("nan")):
        servable.examples["text"] = {"x": np.array([unwritable], object)}
        example = example_of(servable, "text")
        assert example is not None
        assert example.document() == {"signature_name": "text", "instances": [""]}
