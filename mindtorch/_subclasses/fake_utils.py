"""Fake tensors beside real ones: compared, and converted back."""
from __future__ import annotations

from typing import Any

from .._creation import zeros
from .._dispatch.dispatcher import switched
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves, tree_map
from ..utils._python_dispatch import TorchDispatchMode
from .fake_class import FakeTensor
from .fake_errors import MetadataMismatchError, UnsupportedFakeTensorException
from .fake_tensor import FakeTensorMode


def try_convert_fake_to_real(ten_list: list[Any]) -> list[Any]:
    """Return zeros on the CPU for fake tensors, strided and sharing memory as these; other values stay
    (``torch._subclasses.fake_utils.try_convert_fake_to_real``).
    """
    memory: dict[int, Tensor] = {}
    out = []
    for value in ten_list:
        if not isinstance(value, FakeTensor):
            out.append(value)
            continue
        storage = value.untyped_storage()
        with switched(dispatch_modes=()):
            if id(storage) not in memory:
                memory[id(storage)] = zeros(int(storage.nbytes()) // value._dtype.itemsize, dtype=value._dtype)
            out.append(memory[id(storage)].as_strided(value.shape, value.stride(), value.storage_offset()))
    return out


class CrossRefFakeMode(TorchDispatchMode):
    """A block in which each operator also runs on fake tensors, and the results are compared
    (``torch._subclasses.CrossRefFakeMode``).
    """

    def __init__(self, ignore_op_fn: Any = None, *, check_strides: bool = True, check_aliasing: bool = True,
                 only_check_ops_with_meta: bool = True) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda func: False)
        self.check_strides = check_strides

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator on real and on fake tensors.

        Raises:
            MetadataMismatchError: if a shape, dtype, device or stride differs.
        """
        kwargs = kwargs or {}
        fake_result = None
        if not self.ignore_op_fn(func) and func.name() not in ("aten::lift_fresh", "aten::_local_scalar_dense"):
            mode = FakeTensorMode()
            try:
                fakes = tree_map(lambda t: mode.from_tensor(t) if isinstance(t, Tensor) else t, (args, kwargs))
                with mode:
                    fake_result = func(*fakes[0], **fakes[1])
            except UnsupportedFakeTensorException:
                fake_result = None
        result = func(*args, **kwargs)
        if fake_result is not None:
            for real, fake in zip(tree_leaves(result), tree_leaves(fake_result), strict=True):
                if isinstance(real, Tensor):
                    self._compare(func, real, fake)
        return result

    def _compare(self, func: Any, real: Tensor, fake: Tensor) -> None:
        facts = ["shape", "dtype", "device", *(["stride"] if self.check_strides else [])]
        for fact in facts:
            ours, theirs = getattr(fake, fact), getattr(real, fact)
            if ours != theirs:
                raise MetadataMismatchError(f"{func}: the fake tensor's {fact} is {ours}, the real one's {theirs}")
