"""The ONNX file, from its description to its place on disk.

`description` names and declares what the message holds, `streaming` writes it weight by weight,
`staging` keeps it hidden until it is right, `outline` is the written file without its weights, and
`external_data` refuses weights that lie anywhere but beside the file.
"""
