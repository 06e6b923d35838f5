"""The tests: what PyTorch does is asked of PyTorch, what NumPy does of NumPy."""
import os

#: Whether every case of each test runs, and not a sample of what is slow and rarely breaks.
FULL = os.environ.get("MINDTORCH_FULL") == "1"
