"""The output of TensorFlow's own `tf_upgrade_v2` for programs; run with the Python that has it.

Reads a JSON object from stdin, mode -> name -> program, and writes one: mode -> name -> the
upgraded program or None, the lines that need manual changes, and the errors.
"""

import contextlib
import io
import json
import os
import re
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.simplefilter("ignore")

from tensorflow.tools.compatibility import (  # noqa: E402 (the filter stands before it)
    ast_edits,
    tf_upgrade_v2,
    tf_upgrade_v2_safety,
)


def upgraded(text, safety):
    spec = (
        tf_upgrade_v2_safety.TFAPIChangeSpec()
        if safety
        else tf_upgrade_v2.TFAPIChangeSpec(import_rename=False, upgrade_compat_v1_import=True)
    )
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            read, new, log, issues = ast_edits.ASTCodeUpgrader(spec).update_string_pasta(text, "x")
    except Exception as error:  # it fails on some programs, which is recorded
        return {"text": None, "lines": [], "error": repr(error)}
    lines = sorted({int(found[1]) for one in issues if (found := re.match(r"x:(\d+):", one))})
    return {"text": new if read else None, "lines": lines, "error": None if read else log[0]}


answers = {
    mode: {name: upgraded(text, mode == "safety") for name, text in programs.items()}
    for mode, programs in json.load(sys.stdin).items()
}
json.dump(answers, sys.stdout)
