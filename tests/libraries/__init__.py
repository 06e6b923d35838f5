"""Libraries of PyPI that import ``torch``, run on mindtorch and on PyTorch."""
