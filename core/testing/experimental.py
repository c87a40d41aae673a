"""`tf.test.experimental`."""

from pinnace.testing.comparing_graphs import sync_devices as sync_devices
