"""Tests wait for events, with a deadline; those that let time pass are listed."""

import ast
from collections import Counter

from architecture.sources import ROOT

# File of tests/unit -> how often it calls `sleep` with a time, and why it cannot wait for an event.
# `sleep(0)` yields to the event loop, and `support.waiting` waits for a condition.
LISTED = {
    "test_team.py": (3, "work that takes time is what is measured"),
    "test_servers.py": (1, "that nothing ends"),
    "test_bad_input.py": (5, "clients that send slowly, next to one that goes on"),
    "test_connections.py": (3, "timeouts of connections"),
    "http_requests.py": (1, "a client that sends slowly"),
    "test_front.py": (2, "a run that takes long"),
    "test_profile.py": (2, "a step that takes long; telling that takes long"),
    "test_tfserving.py": (1, "a body that is slow"),
    "numpy_models.py": (1, "a model that is slow"),
    "test_expansion.py": (1, "garbage that is not there"),
    "test_isolation.py": (1, "a client that leaves during a run"),
    "test_lanes.py": (4, "runs that take long; a batch that is not full"),
    "test_late_application.py": (1, "a server that is asked until it is ready"),
    "test_sequences.py": (1, "a sequence is forgotten after some time without a request"),
    "test_servable.py": (1, "ticks of the event loop are counted"),
    "test_process.py": (2, "a request that arrives in two parts"),
    "test_termination.py": (
        2,
        "a finalizer that takes its time; a command that goes on until a signal",
    ),
    "test_order.py": (1, "a request that arrives in parts"),
    "test_upgrades.py": (1, "a request that arrives in parts"),
    "test_traffic.py": (1, "a model that is slow"),
    "test_watchers.py": (1, "a watcher that is slow"),
    "test_workers.py": (1, "requests of another process that are under way"),
}


def test_time_passes_only_where_time_is_the_subject() -> None:
    unit = ROOT / "tests" / "unit"
    found: Counter[str] = Counter()
    for file in unit.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "sleep":
                continue
            if ast.unparse(node.args[0]) != "0":
                found[file.name] += 1
    assert found == {name: times for name, (times, _) in LISTED.items()}, (
        "wait for a condition with support.waiting, or list the file with its reason"
    )
