"""HTTP without ASGI: header blocks recognised by their bytes, and numbers parsed in place."""
