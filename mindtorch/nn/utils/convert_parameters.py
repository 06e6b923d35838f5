"""Parameters as one vector; mirrors ``torch.nn.utils.convert_parameters``."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._dispatch.aten import cat
from ..._tensor import Tensor
from ..module import typename


def _check_device(device: Any, expected: Any) -> Any:
    if expected is not None and device != expected:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return device


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Copy parameters into a 1-d tensor (``torch.nn.utils.parameters_to_vector``); TypeError across devices."""
    device, flat = None, []
    for param in parameters:
        device = _check_device(param.device, device)
        flat.append(param.view((-1,)))
    return cat(flat, 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of consecutive parts of a 1-d tensor (``torch.nn.utils.vector_to_parameters``). Raises
    TypeError if ``vec`` is not a tensor, or the parameters are on different devices.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    device, start = None, 0
    for param in parameters:
        device = _check_device(param.device, device)
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end
