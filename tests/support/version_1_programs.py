"""TensorFlow 1 programs in many styles, each with a name for tests."""

from pathlib import Path

_HEAD = "=== "


def _read() -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    for line in text.splitlines(keepends=True):
        if line.startswith(_HEAD):
            name = line.removeprefix(_HEAD).strip()
            found[name] = ""
        else:
            found[name] += line
    return found


PROGRAMS = {
    **_read(),
    # Characters that a text file of ours would not keep.
    "windows_lines": (
        "import tensorflow as tf\r\n\r\nx = tf.log(1.0)  # one\r\n"
        "y = tf.reduce_sum(x,\r\n                  keep_dims=True)\r\n"
    ),
    "no_newline_at_the_end": "import tensorflow as tf\nx = tf.log(1.0)",
    "tabs_and_spaces": (
        "import tensorflow as tf\nif  True :\n\tx=tf.log( 1.0 )\t# tab\n\ty = tf . erf ( x )\n"
    ),
}
