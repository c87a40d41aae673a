"""What is made of a file once it is verified: smaller forms, ORT's format, a page for browsers.

`artifacts` makes them, `variants` calls the tools for float16, int8 and `.ort`, `accuracy` measures
what a smaller form costs, `web` writes the page in `page/`.
"""
