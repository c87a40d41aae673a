"""`tensorflow.serving.ModelService`: the status of versions, and the configuration of models.

Source: docs/reference/serving_api.md 2.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError, OpError, UnimplementedError
from pinnace.proto.model_service_pb2 import (
    GetModelStatusRequest,
    GetModelStatusResponse,
    ReloadConfigRequest,
    ReloadConfigResponse,
)
from pinnace.serving.config.model_config import decode_model_config
from pinnace.serving.config.urls import public_url
from pinnace.serving.errors import canonical_code, one_line
from pinnace.serving.grpc.methods import headers_of
from pinnace.serving.messages.fields import parse, which_model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.serving.config.model_config import ModelConfig
    from pinnace.serving.grpc.methods import Context, Methods
    from pinnace.serving.requests.exchange import Exchange

_NAME = "tensorflow.serving.ModelService"


class ModelService:
    """The methods of the service.

    Args:
        exchange: the exchange with the repository.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._repository = exchange.repository
        self._control = exchange.control

    def register(self, methods: Methods) -> None:
        """Add the methods of the service to those of a server."""
        methods.unary |= {
            f"/{_NAME}/GetModelStatus": self.get_model_status,
            f"/{_NAME}/HandleReloadConfigRequest": self.handle_reload_config_request,
        }

    async def get_model_status(self, data: bytes, _: Context) -> bytes:
        """The status of a model's versions."""
        message = parse(GetModelStatusRequest, data)
        response = GetModelStatusResponse()
        for status in self._repository.status(which_model(message.model_spec)):
            row = response.model_version_status.add(
                version=status.version,
                state=status.state.name,
            )
            row.status.error_code = status.code  # type: ignore[assignment]
            row.status.error_message = status.message
        return response.SerializeToString()

    async def handle_reload_config_request(self, data: bytes, context: Context) -> bytes:
        """Serve exactly the models of the request."""
        self._control.check(headers_of(context.invocation_metadata()))
        message = parse(ReloadConfigRequest, data)
        response = ReloadConfigResponse()
        response.status.SetInParent()
        if message.config.WhichOneof("config") != "model_config_list":
            raise InvalidArgumentError("config.model_config_list must be given")
        try:
            if message.metric_names:
                raise UnimplementedError(
                    "metric_names: metrics are at the HTTP port, see --metrics_path"
                )
            models = decode_model_config(message.config)
            _check_absolute(models)
            self._control.check_sources(models)
            await asyncio.to_thread(self._repository.replace_models, models)
        except OpError as error:
            response.status.error_code = canonical_code(error)  # type: ignore[assignment]
            response.status.error_message = one_line(error)
        return response.SerializeToString()


def _check_absolute(models: Iterable[ModelConfig]) -> None:
    """Check that the path of each model means the same to client and server.

    Raises:
        InvalidArgumentError: a path is relative.
    """
    for model in models:
        path = model.base_path
        if "://" not in path and not Path(path).is_absolute():
            raise InvalidArgumentError(
                f"Expected model {model.name} to have an absolute path or URI; "
                f"got base_path()={public_url(path)}"
            )
