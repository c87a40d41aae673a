"""From nothing to `import pinnace` done and the process ended."""

from harness import ProcessCase

CASE = ProcessCase(
    title="start and import",
    aims={"tensorflow": 0.08},
    memory_aims={"tensorflow": 0.1},
    commands={
        "pinnace": ["-c", "import pinnace"],
        "tensorflow": ["-c", "import tensorflow"],
    },
)
