"""HTTP: routes, and the codecs between bodies and arrays."""
