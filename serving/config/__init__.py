"""The configuration of a server: settings, and the text files TensorFlow Serving reads as well."""
