"""HTTP past ASGI: header blocks known by their bytes, and numbers read where they lie."""
