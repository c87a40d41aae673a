"""Files derived from a verified one: smaller precisions, ORT format, a web page.

`artifacts` makes them, `variants` calls the tools for float16, int8 and `.ort`, `accuracy` measures
the loss of a variant, `web` writes the page in `page/`.
"""
