"""``torch.backends``: what may compute besides this library, which is nothing. What programs set is kept, and read
back.
"""
from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
__dir__ = __all__.copy
