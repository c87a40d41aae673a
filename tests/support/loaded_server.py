"""Runs under another library's Python: loads the library once, then forks for each program.

    python -c "the text of this file" MODULE...

Each line on stdin is a program: JSON of its code, arguments, folder, environment, and the files for
its output. It runs in a fork of this process, which has loaded the modules and done nothing with
them; the reply, a line, is its exit code. It ends with its input.
"""

import atexit
import gc
import importlib
import json
import os
import sys
import threading
import traceback
import types
from typing import Any


def main() -> None:
    """Load, then run programs until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of modules while they load is not a reply
    for name in sys.argv[1:]:
        found = importlib.import_module(name.partition(":")[0])
        for part in filter(None, name.partition(":")[2].split(".")):
            found = getattr(found, part)  # libraries load some of their parts lazily
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            answers.detach()
            run(json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def run(asked: dict[str, Any]) -> None:
    """Run a program in its process, which ends here."""
    for number, path in enumerate((os.devnull, asked["stdout"], asked["stderr"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["-c", *asked["arguments"]]
    module = types.ModuleType("__main__")
    # As with `python -c`: with a loader, `linecache` finds the sources of functions.
    module.__loader__ = sys.modules["__main__"].__loader__
    sys.modules["__main__"] = module
    code = 0
    try:
        exec(compile(asked["code"], "<string>", "exec"), module.__dict__)
    except SystemExit as end:
        told = end.code is not None and not isinstance(end.code, int)
        if told:
            sys.stderr.write(f"{end.code}\n")
        code = int(told or end.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
