from pathlib import Path

import pytest

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.serving.config.model_config import (
    All,
    Latest,
    ModelConfig,
    Specific,
    check_models,
    parse_model_config,
    read_model_config,
)

TEXT = """
# TensorFlow Serving's own example, with its optional syntax
model_config_list {
  config {
    name: 'half_plus_two'
    base_path: "/models/half_plus_two"
    model_platform: "tensorflow"
    model_version_policy { specific { versions: 42, versions: 43 } }
    version_labels { key: 'stable' value: 43 }
    version_labels { key: "canary", value: 42 }
  },
  config: { name: "b" base_path: "/b" model_version_policy { latest { num_versions: 2 } } }
  config { name: "c" base_path: "relative/c" model_version_policy { all {} } }
  config { name: "d" base_path: "/d" model_type: TENSORFLOW logging_config {} }
}
"""


def test_a_file_of_tensorflow_serving_is_read(tmp_path: Path) -> None:
    (tmp_path / "models.config").write_text(TEXT)
    assert read_model_config(tmp_path / "models.config") == (
        ModelConfig(
            "half_plus_two",
            "/models/half_plus_two",
            Specific(frozenset({42, 43})),
            {"stable": 43, "canary": 42},
        ),
        ModelConfig("b", "/b", Latest(2)),
        ModelConfig("c", "relative/c", All()),
        ModelConfig("d", "/d", Latest(1)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "model_config_list {",
            "Error parsing text-format tensorflow.serving.ModelServerConfig: .*",
        ),
        ("hello", "Error parsing text-format tensorflow.serving.ModelServerConfig: 1:.*hello"),
        (
            "model_config_list { config { nam: 'x' } }",
            "Error parsing text-format tensorflow.serving.ModelServerConfig: 1:.*nam",
        ),
        ("model_config_list { config { base_path: '/x' } }", r"needs a name \(its path is '/x'\)"),
        ("model_config_list { config { name: 'x' } }", "Model 'x' needs a base path"),
        (
            "model_config_list { config { name: 'x/y' base_path: '/' } }",
            "'x/y': must not contain '/'",
        ),
        (
            (
                "model_config_list { config { name: 'x' base_path: '/1' }\n"
                "config { name: 'x' base_path: '/2' } }"
            ),
            "Model name 'x' is given twice: for '/1' and for '/2'",
        ),
        (
            "model_config_list { config { name: 'x' base_path: '/' model_platform: 'torch' } }",
            "model_platform must be 'tensorflow', got 'torch'",
        ),
        (
            (
                "model_config_list { config { name: 'x' base_path: '/'"
                " model_version_policy { specific {} } } }"
            ),
            "model 'x': specific needs versions",
        ),
        (
            (
                "model_config_list { config { name: 'x' base_path: '/'"
                " version_labels { key: 'a-b' } } }"
            ),
            "label 'a-b' must be letters, digits and '_'",
        ),
        ("custom_model_config {}", "custom_model_config is not supported"),
    ],
)
def test_a_bad_file_is_one_error_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.config"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=f"^{path}: .*{message}"):
        read_model_config(path)


def test_a_file_that_is_missing_or_no_text_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.config: cannot be read: No such file"):
        read_model_config(tmp_path / "none.config")
    with pytest.raises(NotFoundError, match="cannot be read: Is a directory"):
        read_model_config(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgumentError, match=r"bytes: .*utf-8"):
        read_model_config(tmp_path / "bytes")


def test_an_empty_list_serves_nothing() -> None:
    assert parse_model_config("model_config_list {}") == ()
    assert check_models([]) == ()


def test_policies_choose() -> None:
    found = [3, 1, 2]
    assert Latest().choose(found) == {3}
    assert Latest(2).choose(found) == {2, 3}
    assert Latest(9).choose(found) == {1, 2, 3}
    assert All().choose(found) == {1, 2, 3}
    assert Specific(frozenset({1, 9})).choose(found) == {1}
