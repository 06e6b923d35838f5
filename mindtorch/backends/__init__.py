"""``torch.backends``: libraries that PyTorch may use, and mindtorch does not. Settings are stored, and read back."""
from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
__dir__ = __all__.copy
