"""Creation: tensors from sizes, numbers, sequences, arrays and buffers."""
from .data import tensor
from .interop import as_tensor, asarray, from_dlpack, from_file, from_numpy, frombuffer, to_dlpack
from .legacy import LEGACY_TENSORS, as_subclass, legacy_constructor
from .random import normal, rand, rand_like, randint, randint_like, randn, randn_like, randperm
from .sequences import arange, eye, linspace, logspace, range, tril_indices, triu_indices
from .sizes import (
    empty, empty_like, empty_permuted, empty_strided, full, full_like, ones, ones_like, scalar_tensor, zeros,
    zeros_like,
)
from .windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
