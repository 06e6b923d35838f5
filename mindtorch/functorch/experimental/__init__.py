"""``functorch.experimental``: functionalisation, batches in chunks, and control flow, under their former names."""
from ..._transforms.batch import chunk_vmap
from ...func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from . import control_flow as control_flow

__all__ = ["chunk_vmap", "control_flow", "functionalize", "hessian", "jacfwd", "jvp",
           "replace_all_batch_norm_modules_"]
__dir__ = __all__.copy
