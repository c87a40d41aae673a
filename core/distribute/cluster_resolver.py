"""`tf.distribute.cluster_resolver`: who says which processes there are."""

from pinnace.distribute.clusters import ClusterResolver as ClusterResolver
from pinnace.distribute.clusters import SimpleClusterResolver as SimpleClusterResolver
from pinnace.distribute.clusters import TFConfigClusterResolver as TFConfigClusterResolver
