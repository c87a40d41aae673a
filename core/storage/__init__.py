"""Bytes on disk: atomic writes, TFRecord files, sorted tables, tensor bundles.

- `atomic`: a reader finds the old file or folder, or the new one, complete; `leftovers` removes
  what killed processes left.
- `bundle` and `bundle_writer`: named tensors, as in checkpoints and SavedModels, on `table`
  (sorted tables, `snappy`), `string_tensors` and `slice_keys`.
- `record`, and `record_blocks` for many at once: TFRecord files; `flat_files`: lines and parts;
  `blob_sequence`: files of Yggdrasil.
- `checksum` and `varints`: what these formats share; `system_errors`: the system's errors in this
  library's classes.
"""
