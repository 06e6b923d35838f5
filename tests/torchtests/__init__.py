"""PyTorch's own tests of its compiler, run against mindtorch: ``python -m tests.torchtests --help``."""
