"""The loops over samples that torchaudio has in C++ compute its Python loops' numbers."""
from __future__ import annotations

import subprocess
import sys

import numpy as np

PROGRAM = """
import mindtorch; mindtorch.install_as_torch()
import torch
for name in "_torchaudio.so", "_torchaudio.abi3.so", "libtorchaudio.abi3.so", "libtorchaudio.so":
    torch.ops.load_library(f"/anywhere/torchaudio/lib/{name}")
ops = torch.ops.torchaudio
windows, padded = torch.arange(6.).view(1, 1, 6), torch.zeros(1, 1, 8)
print(ops._lfilter_core_loop(windows, torch.tensor([[.25, .5, 1.]]), padded).flatten().tolist())
wave, driven, out = torch.ones(1, 4), torch.arange(4.).view(1, 4), torch.zeros(1, 4)
ops._overdrive_core_loop(wave, driven, torch.zeros(1), torch.zeros(1), out)
print(out.flatten().tolist(), torch.ops._torchaudio.is_align_available())
"""


def test_loops_over_samples_compute_what_they_are_defined_as() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    filtered, driven = said.splitlines()
    y = [0., 0.]
    for sample in range(6):
        y.append(sample - .5 * y[-1] - .25 * y[-2])
    assert np.allclose(eval(filtered), y)
    after, expected = 0., []
    for i in range(4):
        after = i - max(i - 1, 0) + .995 * after
        expected.append(.5 + .75 * after)
    assert np.allclose(eval(driven.removesuffix(" False")), expected)
