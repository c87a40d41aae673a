"""Files derived from a verified one: smaller precisions, ORT format, the contents of a web page.

`artifacts` makes them, `variants` calls the tools for float16, int8 and `.ort`, `accuracy` measures
the loss of a variant; `pinnace.deploy.page` writes the page.
"""
