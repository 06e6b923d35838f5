"""Solutions of 'dispatch.meta', right and wrong."""
import mindtorch as torch


def right_with_the_librarys_rules(self, other, alpha=1):
    shape = torch.broadcast_shapes(self.shape, getattr(other, "shape", ()))
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


def right_by_another_operator(self, other, alpha=1):
    if isinstance(other, torch.Tensor):
        return torch.mul(self.to("meta"), other.to("meta"))
    return torch.mul(self.to("meta"), other)


def wrong_numbers_forgotten(self, other, alpha=1):
    """promote_types sees two dtypes and cannot know which operand has no dimensions, or is a number"""
    shape = torch.broadcast_shapes(self.shape, other.shape)
    return torch.empty(shape, dtype=torch.promote_types(self.dtype, other.dtype), device="meta")


def wrong_device(self, other, alpha=1):
    """it is on cpu, where meta is right"""
    shape = torch.broadcast_shapes(self.shape, getattr(other, "shape", ()))
    return torch.empty(shape, dtype=torch.result_type(self, other))


def wrong_larger_shape(self, other, alpha=1):
    """The larger operand does not decide alone: (2, 1) with (3,) is (2, 3), larger than both"""
    shape = max(self.shape, getattr(other, "shape", ()), key=len)
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


def wrong_number_is_float(self, other, alpha=1):
    """A number has a kind and no dtype: 1 leaves int64 as it is"""
    if not isinstance(other, torch.Tensor):
        return torch.empty(self.shape, device="meta")
    shape = torch.broadcast_shapes(self.shape, other.shape)
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


def wrong_number_keeps_dtype(self, other, alpha=1):
    """A number of a higher kind counts: int64 + 1.5 is float32"""
    if not isinstance(other, torch.Tensor):
        return torch.empty(self.shape, dtype=self.dtype, device="meta")
    shape = torch.broadcast_shapes(self.shape, other.shape)
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


def wrong_errors_are_swallowed(self, other, alpha=1):
    """Shapes that cannot be broadcast are an error: do not catch it."""
    try:
        shape = torch.broadcast_shapes(self.shape, getattr(other, "shape", ()))
    except RuntimeError:
        shape = self.shape
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


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


WRONG = [
    ("The shapes are broadcast: the result need not have the shape of the first operand",
     lambda self, other, alpha=1: torch.empty_like(self, device="meta", dtype=torch.result_type(self, other))),
    ("The dtype is promoted from both operands, not taken from the first: torch.result_type(self, other).",
     lambda self, other, alpha=1:
        torch.empty(torch.broadcast_shapes(self.shape, getattr(other, "shape", ())), dtype=self.dtype, device="meta")),
    ("Not every result is float32: the dtype follows from the operands",
     lambda self, other, alpha=1:
        torch.empty(torch.broadcast_shapes(self.shape, getattr(other, "shape", ())), device="meta")),
    ("Return a tensor without elements: torch.empty of the shape and the dtype, on 'meta'.",
     lambda self, other, alpha=1: torch.broadcast_shapes(self.shape, getattr(other, "shape", ()))),
]
