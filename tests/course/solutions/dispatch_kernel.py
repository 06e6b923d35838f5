"""Solutions of 'dispatch.kernel'. A wrong one's docstring is what the hint has to say."""
import numpy as np

import mindtorch as torch


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


def wrong_no_alpha(self, other, alpha=1):
    """alpha is missing"""
    return right_into_a_buffer(self, other)


def wrong_alpha_of_all(self, other, alpha=1):
    """alpha belongs to the second operand"""
    return alpha * right_into_a_buffer(self, other)


def wrong_alpha_of_self(self, other, alpha=1):
    """alpha belongs to the second operand"""
    return right_into_a_buffer(alpha * self, other)


def wrong_parameters(self, other):
    """called with alpha, too"""
    return right_into_a_buffer(self, other)


def wrong_numpy(self, other, alpha=1):
    """NumPy promotes differently: int64 with float32 is float64 there. Convert to torch.result_type(self, other)."""
    other = other.numpy() if isinstance(other, torch.Tensor) else other
    return torch.from_numpy(np.add(self.numpy(), other * alpha))


def wrong_first_dtype(self, other, alpha=1):
    """Convert the result to torch.result_type(self, other): it does not always have the first operand's dtype."""
    return right_into_a_buffer(self, other, alpha).to(self.dtype)


def wrong_float32(self, other, alpha=1):
    """Not every result is float32"""
    other = other.numpy() if isinstance(other, torch.Tensor) else other
    total = self.numpy() + alpha * other
    return torch.from_numpy(np.asarray(total, dtype=np.float32))


def wrong_double(self, other, alpha=1):
    """float64 cannot hold every int64"""
    dtype = torch.result_type(self, other)
    other = other.numpy().astype("float64") if isinstance(other, torch.Tensor) else other
    return torch.from_numpy(self.numpy().astype("float64") + alpha * other).to(dtype)


def wrong_number(self, other, alpha=1):
    """may be a number"""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(self.to(dtype).numpy() + alpha * other.to(dtype).numpy())


def wrong_array(self, other, alpha=1):
    """torch.from_numpy makes one"""
    return right_into_a_buffer(self, other, alpha).numpy()


def wrong_in_place(self, other, alpha=1):
    """A kernel returns a new tensor: do not write into its arguments."""
    other = other.numpy() if isinstance(other, torch.Tensor) else other
    return self.copy_(torch.from_numpy(np.asarray(self.numpy() + alpha * other)))


def wrong_minus(self, other, alpha=1):
    """It is a sum"""
    return right_into_a_buffer(self, other, -alpha)
