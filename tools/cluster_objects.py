"""The checks of `make k8s-check` on relations between objects, and on servers' settings.

No schema covers them: a selector that matches nothing is as valid as one that matches everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.serving.command import parse_settings
from pinnace.serving.flags import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Manifest = dict[str, Any]


def containers(objects: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Each container that serves, with its object's name and kind."""
    for one in objects:
        where = f"{one['kind']} {one['metadata']['name']}"
        spec = one.get("spec", {})
        if one["kind"] == "ClusterServingRuntime":
            found = spec["containers"]
        elif one["kind"] == "Deployment":
            found = spec["template"]["spec"]["containers"]
        else:
            continue
        for container in found:
            yield where, container


def misunderstood(objects: list[Manifest]) -> list[str]:
    """Settings in objects that `pinnace serve` would refuse, or warn about."""
    found = []
    for where, container in containers(objects):
        # KServe writes the service's name there.
        words = [word.replace("{{.Name}}", "model") for word in container.get("args", [])]
        try:
            settings, remarks = parse_settings(words)
        except UsageError as error:
            found.append(f"{where}: {error}")
            continue
        found += [f"{where}: {remark}" for remark in remarks]
        ports = {one["containerPort"] for one in container["ports"]}
        if not ports <= {settings.rest_api_port, settings.grpc_port}:
            found.append(f"{where}: ports {ports}, and the server is told others")
    return found


def mismatched(objects: list[Manifest]) -> list[str]:
    """Selectors that do not choose the server's pods, and ports by names that these do not have."""
    found = []
    deployments = {
        one["metadata"]["name"]: one["spec"]["template"]
        for one in objects
        if one["kind"] == "Deployment"
    }
    services = [one for one in objects if one["kind"] == "Service"]
    for one in objects:
        where = f"{one['kind']} {one['metadata']['name']}"
        for path, selector in _selectors(one):
            # The operator looks for services; the others for pods.
            targets = services if one["kind"] == "ServiceMonitor" else list(deployments.values())
            labels = [target["metadata"].get("labels", {}) for target in targets]
            if not selector:
                found.append(f"{where}: {path} is empty: it chooses all pods, or none")
            elif not any(selector.items() <= each.items() for each in labels):
                found.append(f"{where}: {path} {selector} matches none of {labels}")
        scaled = one["spec"].get("scaleTargetRef", {}).get("name") if "spec" in one else None
        if scaled is not None and scaled not in deployments:
            found.append(f"{where}: scales {scaled}, and there is no such Deployment")
    named = {
        port.get("name") for _, container in containers(objects) for port in container["ports"]
    }
    wanted = {port["targetPort"] for one in services for port in one["spec"]["ports"]}
    return found + [f"Service: no container has a port {one}" for one in wanted - named]


def _selectors(one: Manifest) -> list[tuple[str, dict[str, str]]]:
    """The selectors by which an object means the server."""
    spec = one.get("spec", {})
    kind = one["kind"]
    if kind == "Service":
        return [("spec.selector", spec.get("selector", {}))]
    if kind == "NetworkPolicy":
        return [("spec.podSelector", spec["podSelector"].get("matchLabels", {}))]
    if kind in ("Deployment", "PodDisruptionBudget", "ServiceMonitor"):
        return [("spec.selector", spec.get("selector", {}).get("matchLabels", {}))]
    return []


def queries(objects: list[Manifest]) -> list[str]:
    """The queries by which objects scale."""
    return [
        trigger["metadata"]["query"]
        for one in objects
        if one["kind"] == "ScaledObject"
        for trigger in one["spec"]["triggers"]
    ]


def board_queries(board: Manifest) -> list[str]:
    """The queries of a Grafana board, its variables replaced by what they may be."""
    return [
        target["expr"].replace("$__rate_interval", "1m").replace("$model", ".*")
        for panel in board["panels"]
        for target in panel.get("targets", [])
    ]
