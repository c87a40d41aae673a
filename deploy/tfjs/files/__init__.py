"""The files of a model for TensorFlow.js: `topology`, `weights` in shards, `folder`."""
