"""Solutions of 'dispatch.kernel'. The hint has a wrong one's docstring, or the text in `WRONG`."""
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


def wrong_double(self, other, alpha=1):
    """float64 cannot hold every int64"""
    dtype = torch.result_type(self, other)
    other = other.numpy().astype("float64") if isinstance(other, torch.Tensor) else other
    return torch.from_numpy(self.numpy().astype("float64") + alpha * other).to(dtype)


def wrong_number(self, other, alpha=1):
    """may be a number"""
    dtype = torch.result_type(self, other)
    return torch.from_numpy(self.to(dtype).numpy() + alpha * other.to(dtype).numpy())


WRONG = [
    ("called with alpha, too", lambda self, other: right_into_a_buffer(self, other)),
]
