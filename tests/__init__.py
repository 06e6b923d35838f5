"""The tests: what PyTorch does is asked of PyTorch, what NumPy does of NumPy."""
