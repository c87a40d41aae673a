"""Settings that hosting platforms pass to containers by environment variables and folders.

Flags take precedence. Source: the container contracts of Cloud Run and Knative (`PORT`), of Vertex
AI (`AIP_*`) and of SageMaker (`SAGEMAKER_BIND_TO_PORT`, `/opt/ml/model`), and the variables that
Kubernetes sets in each pod.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

SAGEMAKER_MODEL = Path("/opt/ml/model")
_SAGEMAKER_PORT = 8080
# The more specific one first: a container of Vertex AI may have PORT, too.
_PORTS = ("AIP_HTTP_PORT", "SAGEMAKER_BIND_TO_PORT", "PORT")
_POD = "KUBERNETES_SERVICE_HOST"
# Endpoints follow readiness within seconds; pods have 30 s to end by default.
_POD_DRAIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Platform:
    """The platform's settings, for options without a flag.

    Attributes:
        port: the HTTP port; None if unset.
        model_path: the path of the only model; may be empty.
        health_route: the path of the platform's readiness probes, beside ours; may be empty.
        predict_route: the path of the platform's predict requests, beside ours; may be empty.
        drain_s: seconds to continue after SIGTERM.
    """

    port: int | None = None
    model_path: str = ""
    health_route: str = ""
    predict_route: str = ""
    drain_s: float = 0.0


def read_platform(
    environment: Mapping[str, str], sagemaker_model: Path = SAGEMAKER_MODEL
) -> Platform:
    """Read the settings in this process's environment.

    Args:
        environment: the environment variables.
        sagemaker_model: the folder in which SageMaker unpacks models.

    Raises:
        InvalidArgumentError: a port is invalid, or a route does not begin with '/'.
    """
    path = environment.get("AIP_STORAGE_URI", "")
    port = _port(environment)
    if not path and sagemaker_model.is_dir():
        path = str(sagemaker_model)
        port = _SAGEMAKER_PORT if port is None else port
    return Platform(
        port,
        path,
        _route(environment, "AIP_HEALTH_ROUTE"),
        _route(environment, "AIP_PREDICT_ROUTE"),
        _POD_DRAIN_S if environment.get(_POD) else 0.0,
    )


def _port(environment: Mapping[str, str]) -> int | None:
    for name in _PORTS:
        text = environment.get(name, "")
        if not text:
            continue
        if not text.isdecimal() or not 0 < int(text) < 2**16:
            raise InvalidArgumentError(
                f"{name} must be a port from 1 to 65535, got '{text[:40]}'\n"
                "  Try: set --rest_api_port, which takes precedence, and remove the variable"
            )
        return int(text)
    return None


def _route(environment: Mapping[str, str], name: str) -> str:
    route = environment.get(name, "")
    if route and not route.startswith("/"):
        raise InvalidArgumentError(f"{name} must begin with '/', got '{route[:80]}'")
    return route
