"""The page's data as JSON: models, versions, signatures, and numbers of requests."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pinnace.framework.errors import NotFoundError
from pinnace.serving.models.tables import Which
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE
from pinnace.serving.web.example_request import example_of
from pinnace.serving.web.images import brightness, image_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client.core import Metric

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.config.settings import Settings
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.signatures import Runnable
    from pinnace.serving.service import ShadowReport

_SHOWN = {
    ":tensorflow:serving:request_latency": "latency",
    "pinnace:serving:stage_latency": "stages",
    "pinnace:serving:batch_rows": "batch_rows",
}
_DESCRIBED: WeakKeyDictionary[Servable, list[dict[str, Any]]] = WeakKeyDictionary()


def models_overview(
    repository: Repository, settings: Settings, shadow_report: ShadowReport = lambda _, __: None
) -> list[dict[str, Any]]:
    """Return every model with its versions, and the signatures of those that answer.

    Args:
        repository: the models.
        settings: the settings with the limits of requests.
        shadow_report: returns the report of a shadow version, by model and number.
    """
    most = dict(settings.max_body_bytes_of)
    return [
        {
            "name": name,
            "versions": _versions(repository, name, shadow_report),
            "labels": {label: str(v) for label, v in sorted(repository.labels(name).items())},
            "most_body_bytes": most.get(name, settings.max_body_bytes),
        }
        for name in repository.names()
    ]


def public_signatures(servable: Servable) -> dict[str, Runnable]:
    """The signatures for people, the default one first."""
    names = [name for name in servable.signatures if not name.startswith("__")]
    names.sort(key=lambda name: (name != DEFAULT_SIGNATURE, name))
    return {name: servable.signatures[name] for name in names}


def _versions(
    repository: Repository, name: str, shadow_report: ShadowReport
) -> list[dict[str, Any]]:
    versions = []
    for status in repository.all_statuses(name):
        try:
            servable = repository.get(Which(name, status.version))
        except NotFoundError:
            signatures: list[dict[str, Any]] = []
        else:
            signatures = _signatures(servable)
        versions.append(
            {
                "version": str(status.version),
                "state": status.state.name,
                "code": status.code_name,
                "message": status.message,
                "signatures": signatures,
                "shadow": shadow_report(name, status.version),
            }
        )
    return versions


def _signatures(servable: Servable) -> list[dict[str, Any]]:
    known = _DESCRIBED.get(servable)
    if known is None:
        known = [_signature(servable, name) for name in public_signatures(servable)]
        _DESCRIBED[servable] = known
    return known


def _signature(servable: Servable, name: str) -> dict[str, Any]:
    signature = servable.signatures[name]
    example = example_of(servable, name)
    graph = getattr(signature, "graph", None)
    inputs = []
    for key, spec in signature.inputs.items():
        described = _tensor(key, spec)
        if described["image"]:
            described["range"] = brightness(graph, key) or (
                (0, 255) if spec.dtype.is_integer else None
            )
        if example is not None:
            described |= asdict(example.fillings[key])
        inputs.append(described)
    return {
        "name": name,
        "is_default": name == DEFAULT_SIGNATURE,
        "form": None if example is None else example.form,
        "has_graph": graph is not None,
        "inputs": inputs,
        "outputs": [_tensor(key, spec) for key, spec in signature.outputs.items()],
    }


def _tensor(name: str, spec: TensorSpec) -> dict[str, Any]:
    form = image_form(spec)
    dims = spec.shape.dims
    return {
        "name": name,
        "dtype": spec.dtype.name,
        "shape": None if dims is None else list(dims),
        "image": None if form is None else asdict(form),
    }


def numbers(metrics: Iterable[Metric]) -> dict[str, Any]:
    """Return requests, latencies and batches of each model since the start.

    Args:
        metrics: the metrics as for Prometheus.

    Returns:
        By model name: `requests` by status; histograms `latency`, `batch_rows` and, by name,
        `stages`, each with `bounds`, cumulative counts, and `total`. Times are in microseconds.
    """
    models: dict[str, dict[str, Any]] = {}

    def model(labels: Mapping[str, str]) -> dict[str, Any]:
        new: dict[str, Any] = {"requests": {}, "latency": {}, "batch_rows": {}, "stages": {}}
        return models.setdefault(labels.get("model_name", ""), new)

    for metric in metrics:
        if metric.name == ":tensorflow:serving:request_count":
            for sample in metric.samples:
                requests = model(sample.labels)["requests"]
                status = sample.labels.get("status", "")
                requests[status] = requests.get(status, 0) + sample.value
        place = _SHOWN.get(metric.name)
        if place is None:
            continue
        for sample in metric.samples:
            found = model(sample.labels)[place]
            if place == "stages":
                found = found.setdefault(sample.labels.get("stage", ""), {})
            _add(found, sample.name, sample.labels, sample.value)
    return models


def _add(histogram: dict[str, Any], name: str, labels: Mapping[str, str], value: float) -> None:
    if name.endswith("_bucket"):
        counts = histogram.setdefault("counts", {})
        counts[labels["le"]] = counts.get(labels["le"], 0) + value
    elif name.endswith("_sum"):
        histogram["total"] = histogram.get("total", 0) + value
