"""`tf.distribute.cluster_resolver`: resolvers that describe a cluster's processes."""

from pinnace.distribute.clusters import ClusterResolver as ClusterResolver
from pinnace.distribute.clusters import SimpleClusterResolver as SimpleClusterResolver
from pinnace.distribute.clusters import TFConfigClusterResolver as TFConfigClusterResolver
