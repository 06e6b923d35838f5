"""Solutions of 'dispatch.meta'. The hint has a wrong one's docstring, or the text in `WRONG`."""
import numpy as np

import mindtorch as torch


def right_by_hand(self, other, alpha=1):
    sizes = list(self.shape), list(getattr(other, "shape", []))
    length = max(map(len, sizes))
    left, right = ([1] * (length - len(s)) + s for s in sizes)
    if any(a != b and 1 not in (a, b) for a, b in zip(left, right)):
        raise RuntimeError(f"{sizes} do not fit together")
    return torch.empty([b if a == 1 else a for a, b in zip(left, right)], dtype=torch.result_type(self, other),
                       device="meta")


def right_by_views(self, other, alpha=1):
    if not isinstance(other, torch.Tensor):
        return torch.empty_like(self, dtype=torch.result_type(self, other))
    wide, _ = torch.broadcast_tensors(self, other)
    return torch.empty(wide.shape, device=self.device, dtype=torch.result_type(self, other))


def wrong_second_dtype(self, other, alpha=1):
    """The dtype is promoted from both operands, not taken from the second: torch.result_type(self, other)."""
    dtype = other.dtype if isinstance(other, torch.Tensor) else torch.tensor(other).dtype
    return right_by_hand(self, other).to(dtype)


def wrong_numpy(self, other, alpha=1):
    """NumPy promotes differently: int64 with float32 is float64 there, and float32 in PyTorch."""
    names = [str(t.dtype).removeprefix("torch.") if isinstance(t, torch.Tensor) else t for t in (self, other)]
    return right_by_hand(self, other).to(getattr(torch, np.result_type(*names).name))


def wrong_number(self, other, alpha=1):
    """may be a number"""
    shape = np.broadcast_shapes(self.shape, other.shape)
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


WRONG = [
    ("the shape of the second operand",
     lambda self, other, alpha=1:
        torch.empty(getattr(other, "shape", ()), dtype=torch.result_type(self, other), device="meta")),
]
