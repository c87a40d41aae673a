"""Values made of tensors: arrays, ragged and sparse tensors, indexed slices."""
