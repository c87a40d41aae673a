"""Profiles: an export writes a file only if all runtimes of its profile support it.

A profile changes no operator. Operators of ONNX Runtime's own domain (`com.microsoft`) would
exclude all other runtimes, and ONNX Runtime inserts them itself when it loads a graph: writing them
to the file gave the same results in the same time.
"""

from collections.abc import Iterable

from pinnace.deploy.onnx.verification.compatibility import REFUSES, Verdict
from pinnace.framework.errors import InvalidArgumentError

# Profile -> prefixes of its runtimes' names.
_SERVER = ("onnxruntime 1.",)
_NODE = ("onnxruntime-node",)
_BROWSER = ("onnxruntime-web 1.30 (WebAssembly)",)
_PHONE = ("onnxruntime-android", "onnxruntime-objc", "onnxruntime-react-native")
PROFILES: dict[str, tuple[str, ...]] = {
    "server": _SERVER,
    "node": _NODE,
    "browser": _BROWSER,
    "webgpu": ("onnxruntime-web 1.30 (WebGPU)",),
    "phone": _PHONE,
    "everywhere": (*_SERVER, *_NODE, *_BROWSER, *_PHONE),
}


def check_profile(profile: str | None) -> None:
    """Refuse an unknown profile.

    Raises:
        InvalidArgumentError: the profile does not exist.
    """
    if profile is not None and profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise InvalidArgumentError(f"export: there is no profile {profile!r}\n  profiles: {known}")


def refuse_strangers(profile: str | None, verdicts: Iterable[Verdict]) -> None:
    """Refuse a file that a runtime of the profile does not support.

    Raises:
        InvalidArgumentError: a runtime does not; the message gives reasons and remedies for each.
    """
    if profile is None:
        return
    lines = []
    for verdict in verdicts:
        if verdict.runtime.startswith(PROFILES[profile]) and verdict.answer == REFUSES:
            lines.append(f"  {verdict.runtime}: {'; '.join(verdict.reasons)}")
            lines += [f"    Try: {change}" for change in verdict.changes]
    if lines:
        head = f"export: the file would not run everywhere that profile {profile!r} means"
        raise InvalidArgumentError("\n".join([head, *lines]))
