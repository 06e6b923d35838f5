"""Finding and counting has no derivative; of results in the input's dtype, PyTorch says so in backward."""
from __future__ import annotations

from ..derivative import derivative, not_differentiable
from .pointwise import not_implemented

for name in ("_unique2", "unique_dim", "unique_consecutive"):
    derivative(name, self=not_implemented(name))
not_differentiable("histc searchsorted.Tensor searchsorted.Scalar bucketize.Tensor bucketize.Scalar "
                   "nonzero nonzero_static equal allclose isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor")
