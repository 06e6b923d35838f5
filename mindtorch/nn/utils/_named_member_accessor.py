"""``torch.nn.utils._named_member_accessor``: tensors of a module, exchanged by name."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ..module import Module

_MISSING = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a parameter, buffer or other tensor in the place of a module's own, and return that; ``_MISSING`` stands for
    none. Raises TypeError for a value that is no tensor, KeyError for a name that is empty or has a dot,
    AttributeError for one that the module lacks, unless ``allow_missing``.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for members in (module._parameters, module._buffers):
        if name in members:
            found = members.pop(name) if tensor is _MISSING else members[name]
            if tensor is not _MISSING:
                members[name] = tensor
            return found
    found = getattr(module, name, _MISSING)
    if found is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if found is not _MISSING and found is not None and not isinstance(found, Tensor):
        raise TypeError(f"attribute `{name}`: {found} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif found is not _MISSING:
        delattr(module, name)
    return found
