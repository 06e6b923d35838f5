"""Windows and short-time Fourier transforms: values as PyTorch's, on every backend and in pipeline mode."""

import numpy as np
import pytest

import mindtorch
from tests.support import torch

WINDOWS = ["bartlett", "blackman", "hamming", "hann", "kaiser"]


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 32])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_the_namespace(name: str, length: int, periodic: bool) -> None:
    ours, theirs = (getattr(lib, f"{name}_window")(length, periodic, dtype=lib.float64) for lib in (mindtorch, torch))
    assert tuple(ours.shape) == (length,)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-14)


def test_a_window_needs_a_floating_point_dtype_and_a_length() -> None:
    with pytest.raises(RuntimeError, match="expects floating point dtypes"):
        mindtorch.hann_window(4, dtype=mindtorch.int64)
    with pytest.raises(RuntimeError, match="requires non-negative window_length, got window_length=-1"):
        mindtorch.hann_window(-1)


@pytest.mark.filterwarnings("ignore")  # that an operator falls back to the CPU
@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("settings", [{}, {"win_length": 10}, {"normalized": True}, {"onesided": False}],
                         ids=lambda settings: next(iter(settings), "plain"))
def test_istft_inverts_stft(settings: dict, device: str) -> None:
    mindtorch.manual_seed(0)
    signal = mindtorch.randn(2, 64).to(device)
    window = mindtorch.hann_window(settings.get("win_length", 16)).to(device)
    spectra = mindtorch.stft(signal, 16, 4, window=window, return_complex=True, **settings)
    again = mindtorch.istft(spectra, 16, 4, window=window, length=64, **settings)
    np.testing.assert_allclose(again.cpu().numpy(), signal.cpu().numpy(), atol=1e-5)


def test_stft_in_pipeline_mode_knows_its_shape() -> None:
    signal = mindtorch.randn(64)
    with mindtorch.pipeline():
        spectra = signal.stft(16, 4, return_complex=True)
        assert tuple(spectra.shape) == (9, 17)
    np.testing.assert_allclose(spectra.numpy(), signal.stft(16, 4, return_complex=True).numpy())


def test_stft_asks_whether_to_return_complex_numbers() -> None:
    with pytest.raises(RuntimeError, match="requires the return_complex parameter"):
        mindtorch.stft(mindtorch.randn(64), 16)


def test_windows_that_leave_gaps_cannot_be_inverted() -> None:
    with pytest.raises(RuntimeError, match="window overlap add min"):
        mindtorch.istft(mindtorch.zeros(9, 4, dtype=mindtorch.complex64), 16, 16, window=mindtorch.hann_window(16),
                        center=False)
