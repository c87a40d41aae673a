"""What every layer stands on: types, shapes, tensors, errors, settings of the process."""
