"""Requests that would change the served models, or come from pages of other origins."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attack.sending import Sender
from pinnace.proto import inference_service_pb2 as v2
from pinnace.proto.model_service_pb2 import ReloadConfigRequest

if TYPE_CHECKING:
    from attack.world import World


async def changes(world: World, _: float) -> Counter[str]:
    """Reload from a URL, load, unload; over HTTP and gRPC."""
    statuses: Counter[str] = Counter()
    reload = ReloadConfigRequest()
    reload.config.model_config_list.config.add(name="victim", base_path="http://127.0.0.1:9/m")
    unload = v2.RepositoryModelUnloadRequest(model_name="good").SerializeToString()
    async with Sender(world) as sender:
        for path, data in (
            (
                "/tensorflow.serving.ModelService/HandleReloadConfigRequest",
                reload.SerializeToString(),
            ),
            ("/inference.GRPCInferenceService/RepositoryModelUnload", unload),
            ("/inference.GRPCInferenceService/RepositoryModelLoad", unload),
        ):
            found = await sender.call(path, data)
            statuses[found if found == "PERMISSION_DENIED" else f"!{path} was {found}"] += 1
        for verb in ("load", "unload"):
            code = await sender.post(f"/v2/repository/models/good/{verb}")
            statuses[str(code) if code == 403 else f"!{verb} was {code}"] += 1
    return statuses


async def origins(world: World, _: float) -> Counter[str]:
    """A page of another origin sends requests; its script must not be able to read any response."""
    statuses: Counter[str] = Counter()
    headers = {"Origin": "http://evil.example", "Content-Type": "text/plain"}
    async with Sender(world) as sender:
        for method, path in (
            ("POST", "/v2/repository/models/good/unload"),
            ("OPTIONS", "/v1/models/good:predict"),
            ("GET", "/page/models"),
        ):
            code = await sender.post(path, headers=headers, method=method)
            expected = 403 if "unload" in path else 200
            statuses[str(code) if code == expected else f"!{method} {path} was {code}"] += 1
    return statuses


ATTACKS = {"load, unload and reload by anybody": changes, "a page of another origin": origins}
