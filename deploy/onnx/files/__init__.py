"""The ONNX file, from its description to its final path on disk.

`description` names and declares the message's contents, `streaming` writes it weight by weight,
`staging` hides it until it is verified, `outline` is the written file without its weights, and
`external_data` refuses weights outside the model's folder.
"""
