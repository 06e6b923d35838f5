"""Solutions of 'dispatch.kernel', right and wrong."""
import numpy as np

import mindtorch as torch


def numbers(other):
    return other.detach().numpy() if isinstance(other, torch.Tensor) else np.asarray(other)


def right_in_the_results_dtype(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    left = self.detach().to(dtype).numpy()
    right = other.detach().to(dtype).numpy() if isinstance(other, torch.Tensor) else left.dtype.type(other)
    return torch.from_numpy(np.asarray(left + left.dtype.type(alpha) * right))


def right_by_writing_into_a_result(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes(self.shape, getattr(other, "shape", ()))
    out = torch.empty(shape, dtype=dtype)
    memory = out.numpy()
    np.copyto(memory, numbers(other), casting="unsafe")
    memory *= memory.dtype.type(alpha)
    np.add(memory, numbers(self).astype(memory.dtype), out=memory)
    return out


def wrong_alpha_forgotten(self, other, alpha=1):
    """alpha is missing: the operator computes self + alpha * other"""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(np.asarray(numbers(self) + numbers(other))).to(dtype)


def wrong_alpha_on_self(self, other, alpha=1):
    """alpha belongs to the second operand: self + alpha * other"""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(np.asarray(alpha * numbers(self) + numbers(other))).to(dtype)


def wrong_numbers_forgotten(self, other, alpha=1):
    """The second operand may be a number, as in a + 1, which has no method numpy()"""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(np.asarray(self.numpy() + alpha * other.numpy())).to(dtype)


def wrong_in_place(self, other, alpha=1):
    """A kernel returns a new tensor: do not write into its arguments."""
    memory = self.numpy()
    memory += (alpha * numbers(other)).astype(memory.dtype)
    return self


def wrong_array(self, other, alpha=1):
    """The dispatcher expects a tensor: torch.from_numpy makes one from an array."""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(np.asarray(numbers(self) + alpha * numbers(other))).to(dtype).numpy()


def wrong_subtracts(self, other, alpha=1):
    """It is a sum: self + alpha * other"""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(np.asarray(numbers(self) - alpha * numbers(other))).to(dtype)


def wrong_returns_nothing(self, other, alpha=1):
    """Is the return missing?"""
    dtype = torch.result_type(self, other)
    torch.from_numpy(np.asarray(numbers(self) + alpha * numbers(other))).to(dtype)


def right_into_a_buffer(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    if not isinstance(other, torch.Tensor):
        other = torch.tensor(other)
    out = torch.empty(torch.broadcast_shapes(self.shape, other.shape), dtype=dtype)
    a, b = self.to(dtype).numpy(), other.to(dtype).numpy()
    np.add(a, np.multiply(b, np.asarray(alpha, b.dtype)), out=out.numpy())
    return out


def right_element_by_element(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    a, b = np.broadcast_arrays(self.to(dtype).numpy(), other.numpy() if isinstance(other, torch.Tensor) else other)
    found = [x.item() + alpha * y.item() for x, y in zip(a.flat, b.flat)]
    if dtype is torch.uint8:
        found = [value % 256 for value in found]
    return torch.tensor(found, dtype=dtype).reshape(a.shape)


WRONG = [
    ("NumPy promotes differently: int64 with float32 is float64 there. Convert to torch.result_type(self, other).",
     lambda self, other, alpha=1: torch.from_numpy(np.asarray(self.detach().numpy() + alpha * numbers(other)))),
    ("Convert the result to torch.result_type(self, other): it does not always have the first operand's dtype.",
     lambda self, other, alpha=1: torch.from_numpy(np.asarray(numbers(self) + alpha * numbers(other))).to(self.dtype)),
    ("Not every result is float32: the dtype follows from the operands",
     lambda self, other, alpha=1:
        torch.from_numpy(np.asarray(numbers(self) + alpha * numbers(other), dtype=np.float32))),
]
