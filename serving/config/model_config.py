"""The models to serve, version policies, labels: TensorFlow Serving's text files.

Source: docs/reference/serving_api.md 3; TensorFlow Serving, config/model_server_config.proto (here
proto/model_config.proto).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.config.text_files import read_text
from pinnace.serving.config.urls import public_url
from pinnace.serving.errors import LOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.proto.model_config_pb2 import ModelConfig as ModelConfigProto
    from pinnace.proto.model_config_pb2 import ModelServerConfig

_LABEL = re.compile(r"[a-zA-Z0-9_]+")
_UNADDRESSABLE = re.compile(r"[/:]")


@dataclass(frozen=True, slots=True)
class Latest:
    """Serve the newest versions.

    Attributes:
        count: the number of versions.
    """

    count: int = 1

    def choose(self, found: Iterable[int]) -> set[int]:
        """The versions to serve among those found."""
        return set(sorted(found)[-self.count :])


@dataclass(frozen=True, slots=True)
class All:
    """Serve every version."""

    def choose(self, found: Iterable[int]) -> set[int]:
        """The versions to serve among those found."""
        return set(found)


@dataclass(frozen=True, slots=True)
class Specific:
    """Serve the named versions.

    Attributes:
        versions: their numbers.
    """

    versions: frozenset[int]

    def choose(self, found: Iterable[int]) -> set[int]:
        """The versions to serve among those found."""
        return set(found) & self.versions


VersionPolicy: TypeAlias = Latest | All | Specific


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One model to serve.

    Attributes:
        name: its name in requests.
        base_path: a folder of numbered versions, or a SavedModel itself.
        policy: the versions to serve.
        labels: label -> version number.
    """

    name: str
    base_path: str
    policy: VersionPolicy = Latest()
    labels: Mapping[str, int] = field(default_factory=dict)


def check_models(models: Iterable[ModelConfig]) -> tuple[ModelConfig, ...]:
    """Return the models if requests can tell them apart.

    Raises:
        InvalidArgumentError: a name is missing, unfit for a URL or given twice; a path is missing;
            a label has characters other than letters, digits and '_'.
    """
    seen: dict[str, ModelConfig] = {}
    for model in models:
        if not model.name:
            raise InvalidArgumentError(
                f"A model needs a name (its path is '{public_url(model.base_path)}')"
            )
        if _UNADDRESSABLE.search(model.name):
            raise InvalidArgumentError(
                f"Model name '{model.name}': must not contain '/' or ':', which are URL separators"
            )
        if not model.base_path:
            raise InvalidArgumentError(f"Model '{model.name}' needs a base path")
        if model.name in seen:
            raise InvalidArgumentError(
                f"Model name '{model.name}' is given twice: "
                f"for '{public_url(seen[model.name].base_path)}' "
                f"and for '{public_url(model.base_path)}'"
            )
        for label in model.labels:
            if not _LABEL.fullmatch(label):
                raise InvalidArgumentError(
                    f"Model '{model.name}': label '{label}' must be letters, digits and '_'"
                )
        seen[model.name] = model
    return tuple(seen.values())


def read_model_config(path: str | Path) -> tuple[ModelConfig, ...]:
    """Read the models of a `models.config` file.

    Args:
        path: a ModelServerConfig in protobuf's text format.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file is not such a message, or its models cannot be served; the
            message names the file.
    """
    return read_text(path, parse_model_config)


def parse_model_config(text: str) -> tuple[ModelConfig, ...]:
    """Parse the models of a ModelServerConfig in protobuf's text format.

    Raises:
        InvalidArgumentError: the text is not such a message, or its models cannot be served.
    """
    # Imported late: a server whose models are given by flags does not need protobuf.
    from google.protobuf import text_format

    from pinnace.proto.model_config_pb2 import ModelServerConfig

    message = ModelServerConfig()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise InvalidArgumentError(
            f"Error parsing text-format tensorflow.serving.ModelServerConfig: {error}"
        ) from None
    return decode_model_config(message)


def decode_model_config(message: ModelServerConfig) -> tuple[ModelConfig, ...]:
    """Decode the models of a ModelServerConfig.

    Raises:
        InvalidArgumentError: its models cannot be served.
    """
    if message.HasField("custom_model_config"):
        raise InvalidArgumentError("custom_model_config is not supported; use model_config_list")
    return check_models(_decode_model(config) for config in message.model_config_list.config)


def _decode_model(message: ModelConfigProto) -> ModelConfig:
    if message.model_platform not in ("", "tensorflow"):
        raise InvalidArgumentError(
            f"model '{message.name}': model_platform must be 'tensorflow', "
            f"got '{message.model_platform}'"
        )
    if message.HasField("logging_config"):
        LOG.warning(
            "model '%s': logging_config has no effect; pinnace serve --record writes requests "
            "and answers",
            message.name,
        )
    return ModelConfig(
        message.name, message.base_path, _decode_policy(message), dict(message.version_labels)
    )


def _decode_policy(message: ModelConfigProto) -> VersionPolicy:
    policy = message.model_version_policy
    if policy.HasField("all"):
        return All()
    if policy.HasField("specific"):
        if not policy.specific.versions:
            raise InvalidArgumentError(f"model '{message.name}': specific needs versions")
        return Specific(frozenset(policy.specific.versions))
    if policy.HasField("latest"):
        return Latest(policy.latest.num_versions or 1)
    return Latest()
