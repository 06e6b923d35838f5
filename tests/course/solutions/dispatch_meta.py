"""Solutions of 'dispatch.meta'. A wrong one's docstring is what the hint has to say."""
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


def wrong_first_dtype(self, other, alpha=1):
    """The dtype is promoted from both operands, not taken from the first: torch.result_type(self, other)."""
    return right_by_hand(self, other).to(self.dtype)


def wrong_second_dtype(self, other, alpha=1):
    """The dtype is promoted from both operands, not taken from the second: torch.result_type(self, other)."""
    dtype = other.dtype if isinstance(other, torch.Tensor) else torch.tensor(other).dtype
    return right_by_hand(self, other).to(dtype)


def wrong_float32(self, other, alpha=1):
    """Not every result is float32"""
    return torch.empty(right_by_hand(self, other).shape, device="meta")


def wrong_promote_types(self, other, alpha=1):
    """promote_types sees two dtypes and cannot know which operand has no dimensions, or is a number; such operands
    weigh less. torch.result_type sees the operands themselves."""
    other_dtype = other.dtype if isinstance(other, torch.Tensor) else torch.tensor(other).dtype
    return right_by_hand(self, other).to(torch.promote_types(self.dtype, other_dtype))


def wrong_numpy(self, other, alpha=1):
    """NumPy promotes differently: int64 with float32 is float64 there, and float32 in PyTorch."""
    names = [str(t.dtype).removeprefix("torch.") if isinstance(t, torch.Tensor) else t for t in (self, other)]
    return right_by_hand(self, other).to(getattr(torch, np.result_type(*names).name))


def wrong_first_shape(self, other, alpha=1):
    """the shape of the first operand"""
    return torch.empty_like(self, dtype=torch.result_type(self, other))


def wrong_second_shape(self, other, alpha=1):
    """the shape of the second operand"""
    return torch.empty(getattr(other, "shape", ()), dtype=torch.result_type(self, other), device="meta")


def wrong_larger(self, other, alpha=1):
    """does not decide alone"""
    shapes = [self.shape, getattr(other, "shape", torch.Size())]
    return torch.empty(max(shapes, key=lambda shape: (len(shape), shape.numel())), device="meta",
                       dtype=torch.result_type(self, other))


def wrong_device(self, other, alpha=1):
    """where meta is right"""
    return torch.zeros(right_by_hand(self, other).shape, dtype=torch.result_type(self, other))


def wrong_number(self, other, alpha=1):
    """may be a number"""
    shape = np.broadcast_shapes(self.shape, other.shape)
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


def wrong_shape_alone(self, other, alpha=1):
    """Return a tensor without elements: torch.empty of the shape and the dtype, on 'meta'."""
    return right_by_hand(self, other).shape
