"""First rows."""
from __future__ import annotations

from .row import Aclnn

ROWS: dict[str, Aclnn] = {
    "add.Tensor": Aclnn("aclnnAdd", scalar="aclnnAdds"),
    "mul.Tensor": Aclnn("aclnnMul", scalar="aclnnMuls"),
    "relu": Aclnn("aclnnRelu"),
    "mm": Aclnn("aclnnMatmul", lambda self, mat2, out: (self, mat2, out, 0)),
    "sum": Aclnn("aclnnReduceSum", lambda self, dtype, out: (self, tuple(range(self.ndim)), False, out.dtype, out)),
    "sum.dim_IntList": Aclnn("aclnnReduceSum", lambda self, dim, keepdim, dtype, out: (self, dim, keepdim, out.dtype, out)),
    "fill_.Scalar": Aclnn("aclnnInplaceFillScalar"),
    "zero_": Aclnn("aclnnInplaceZero"),
}
