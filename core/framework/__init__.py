"""The foundation of every layer: types, shapes, tensors, errors, process-wide settings.

- `dtypes.DType`: interned; `.name`, `.enum` (number in `types.proto`), `.numpy` (np.dtype;
  object for string, resource, variant), `.onnx`, `is_*`. `as_dtype(anything)`,
  `from_numpy(np_dtype)`. Frozen sets `FLOATS INTEGERS REAL NUMBERS COMPLEX ANY`.
- `shapes.Shape`: `Shape(None)` is unknown rank, an unknown axis is `None`. Public name
  `TensorShape`.
- `specs.TensorSpec(shape, dtype, name)`: hashable.
- `tensor.Tensor`: eager, one slot `_array` holding an `np.ndarray` or NumPy scalar (strings:
  object arrays of bytes). `tensor.SymbolicTensor(Tensor)`: `value`, the graph `Value` it stands
  for. `type(x) is Tensor` means eager.
- `composite.CompositeTensor`, `CompositeSpec`: values made of several tensors (ragged and
  sparse tensors, indexed slices). The spec says which tensors (`component_specs`,
  `to_components`, `from_components`) and what an equal spec is made from (`_serialize`);
  `nest`, `function`, tapes, Datasets and SavedModels ask nothing else.
- `context.state`: thread-local: `state.tracer` (takes ops), `state.tapes` (see ops),
  `state.observed` (either is there), `state.stop` (ends this thread's runs from another one:
  ADR 9).
- `indexed_slices.IndexedSlices`: some rows of a tensor. `variable_parts`: what a variable does
  with parts of its value; `v[key]` is a tensor with `assign`.
- `variable.Variable` has a `handle` (a resource `Tensor` whose array holds a `Resource`); a
  `Resource` has `value` (array or None), `version`, `dtype`, `shape`, `name`. Assigning puts a
  new array in; it never writes into one that may be referenced elsewhere.
- `trackable.Trackable`: named children; `containers`: tracked lists and dicts;
  `autotrackable.AutoTrackable`: attributes as children; `module.Module`.
- `errors`: TensorFlow's classes, each also the built-in it refines.
"""
