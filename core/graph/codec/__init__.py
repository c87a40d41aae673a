"""Codecs for graphs and TensorFlow's messages: encode_x and decode_x, one file per type.

Graphs are handled separately: `encoding` writes them and is below their class, whose methods call
it; `functions` and `graphs` read them.

Decoding trusts nothing: any message gives a value or one OpError that says where. The arguments
`where` name the place for such an error: a file, then function, node and field.
"""
