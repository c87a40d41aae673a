"""From a folder or URL to a version that answers.

`sources` finds versions, on disks (`versions`, `private_copy`) and at URLs (`remote`); `loading`
reads one, `engines` may hand it to ONNX Runtime, `warmup` runs it first. `repository` does that for
all models, whose state is a `model_state` with its `tables`; what it gives is a `servable`.
"""
