"""Models: from a folder or URL to a ready version.

`sources` finds versions, on disk (`versions`, `private_copy`) and at URLs (`remote`); `loading`
loads one, `engines` may run it in ONNX Runtime, `warmup` runs it first. `repository` does that for
all models, whose state is a `model_state` with its `tables`; it returns a `servable`.
"""
