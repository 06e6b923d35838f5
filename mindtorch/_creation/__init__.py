"""Creation: tensors from sizes, numbers, sequences, arrays and buffers."""
from .data import scalar_tensor, tensor
from .factories import (
    empty, empty_like, empty_permuted, empty_strided, finish, full, full_like, ones, ones_like, sizes_of, zeros,
    zeros_like,
)
from .interop import as_tensor, asarray, from_dlpack, from_file, from_numpy, frombuffer, to_dlpack
from .legacy import LEGACY_TENSORS, as_subclass, legacy_constructor
from .sequences import arange, eye, linspace, logspace, range
from .windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
