"""`tf.experimental.dtensor`: tensors that are laid out over a mesh of devices.

A tensor keeps its whole value once, and a layout (`values`, `layout`, `mesh`). Ops compute on whole
values; rules tell the layouts of their results (`propagation`), of which `running` makes use where
an op or a graph runs. What devices have is sliced from the whole when it is asked for. ADR 41 says
why.
"""

from pinnace.distribute.dtensor.api import call_with_layout as call_with_layout
from pinnace.distribute.dtensor.api import check_layout as check_layout
from pinnace.distribute.dtensor.api import copy_to_mesh as copy_to_mesh
from pinnace.distribute.dtensor.api import device_name as device_name
from pinnace.distribute.dtensor.api import fetch_layout as fetch_layout
from pinnace.distribute.dtensor.api import get_default_mesh as get_default_mesh
from pinnace.distribute.dtensor.api import is_dtensor as is_dtensor
from pinnace.distribute.dtensor.api import pack as pack
from pinnace.distribute.dtensor.api import relayout as relayout
from pinnace.distribute.dtensor.api import relayout_like as relayout_like
from pinnace.distribute.dtensor.api import run_on as run_on
from pinnace.distribute.dtensor.api import unpack as unpack
from pinnace.distribute.dtensor.checkpoint import DTensorCheckpoint as DTensorCheckpoint
from pinnace.distribute.dtensor.checkpoint import enable_save_as_bf16 as enable_save_as_bf16
from pinnace.distribute.dtensor.checkpoint import name_based_restore as name_based_restore
from pinnace.distribute.dtensor.checkpoint import name_based_save as name_based_save
from pinnace.distribute.dtensor.checkpoint import sharded_save as sharded_save
from pinnace.distribute.dtensor.configuration import client_id as client_id
from pinnace.distribute.dtensor.configuration import full_job_name as full_job_name
from pinnace.distribute.dtensor.configuration import heartbeat_enabled as heartbeat_enabled
from pinnace.distribute.dtensor.configuration import job_name as job_name
from pinnace.distribute.dtensor.configuration import jobs as jobs
from pinnace.distribute.dtensor.configuration import local_devices as local_devices
from pinnace.distribute.dtensor.configuration import num_clients as num_clients
from pinnace.distribute.dtensor.configuration import num_global_devices as num_global_devices
from pinnace.distribute.dtensor.configuration import num_local_devices as num_local_devices
from pinnace.distribute.dtensor.configuration import preferred_device_type as preferred_device_type
from pinnace.distribute.dtensor.dataset import DTensorDataset as DTensorDataset
from pinnace.distribute.dtensor.layout import MATCH as MATCH
from pinnace.distribute.dtensor.layout import UNSHARDED as UNSHARDED
from pinnace.distribute.dtensor.layout import Layout as Layout
from pinnace.distribute.dtensor.mesh import Mesh as Mesh
from pinnace.distribute.dtensor.meshes import barrier as barrier
from pinnace.distribute.dtensor.meshes import create_distributed_mesh as create_distributed_mesh
from pinnace.distribute.dtensor.meshes import create_mesh as create_mesh
from pinnace.distribute.dtensor.meshes import (
    initialize_accelerator_system as initialize_accelerator_system,
)
from pinnace.distribute.dtensor.meshes import (
    shutdown_accelerator_system as shutdown_accelerator_system,
)
from pinnace.distribute.dtensor.scopes import default_mesh as default_mesh
from pinnace.distribute.dtensor.variable import DVariable as DVariable

# TensorFlow's other names for them.
initialize_multi_client = initialize_accelerator_system
initialize_tpu_system = initialize_accelerator_system
shutdown_tpu_system = shutdown_accelerator_system

__all__ = [
    "MATCH",
    "UNSHARDED",
    "DTensorCheckpoint",
    "DTensorDataset",
    "DVariable",
    "Layout",
    "Mesh",
    "barrier",
    "call_with_layout",
    "check_layout",
    "client_id",
    "copy_to_mesh",
    "create_distributed_mesh",
    "create_mesh",
    "default_mesh",
    "device_name",
    "enable_save_as_bf16",
    "fetch_layout",
    "full_job_name",
    "get_default_mesh",
    "heartbeat_enabled",
    "initialize_accelerator_system",
    "initialize_multi_client",
    "initialize_tpu_system",
    "is_dtensor",
    "job_name",
    "jobs",
    "local_devices",
    "name_based_restore",
    "name_based_save",
    "num_clients",
    "num_global_devices",
    "num_local_devices",
    "pack",
    "preferred_device_type",
    "relayout",
    "relayout_like",
    "run_on",
    "sharded_save",
    "shutdown_accelerator_system",
    "shutdown_tpu_system",
    "unpack",
]
