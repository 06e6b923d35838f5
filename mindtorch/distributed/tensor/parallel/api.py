"""``torch.distributed.tensor.parallel.api``: a plan applied to a model."""
from __future__ import annotations

import warnings
from collections.abc import Mapping
from fnmatch import fnmatch

from ....nn.module import Module
from ...device_mesh import DeviceMesh, _mesh_resources
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(module: Module, device_mesh: DeviceMesh | None = None,
                       parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None, *,
                       src_data_rank: int | None = 0) -> Module:
    """Divide a module's parameters by a plan (``torch.distributed.tensor.parallel.parallelize_module``).

    Args:
        module: the module, changed in place.
        device_mesh: a mesh of one dimension; that of the ``with`` block unless given.
        parallelize_plan: a style for the module, or styles by names of submodules, in which ``*`` matches any name.
        src_data_rank: the process whose parameters count; with None every process takes its own.

    Raises:
        TypeError: if the plan is neither.
        ValueError: if the mesh has several dimensions.
    """
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
                      "parallelize_module call will do nothing.", stacklevel=2)
        return module
    if mesh.ndim > 1:
        raise ValueError(f"parallelize_module takes a mesh of one dimension, such as mesh['tp'], not {mesh}")
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, Mapping):
        raise TypeError("Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
                        f"{type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        token, _, rest = path.partition(".")
        children = [child for name, child in module.named_children() if fnmatch(name, token)] if path else [module]
        if not children:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' "
                          f"in module {module}, skipping this plan entry.", stacklevel=2)
        for child in children:
            parallelize_module(child, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank)
    for path, inner in module.named_modules():  # the call for the outermost module comes last
        if getattr(inner, "_distribute_module_applied", False):
            inner._distributed_path = path
    return module
