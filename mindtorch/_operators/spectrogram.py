"""Short-time Fourier transforms: spectra of overlapping pieces of a signal, weighted by a window."""
from __future__ import annotations

import warnings
from typing import Any

from .._base.call_site import warn_once
from .._base.errors import check
from .._dispatch.aten import (
    _fft_c2c as c2c, _fft_c2r as c2r, _fft_r2c as r2c, constant_pad_nd, pad, unfold_backward, view_as_real,
)
from .._dtype import FLOATING
from . import composites, operator, schemas

schemas("""
function, method:
    stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor  # The spectra of the pieces of `self` that are `n_fft` long and `hop_length` apart, each multiplied by `window`.
    istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor  # The signal whose short-time Fourier transform comes nearest to `self`, in the sense of least squares.
""")  # noqa: E501

#: ATen's numbers for scaling by the root of the number of points, by that number, and not at all.
NONE, ROOT, WHOLE = 0, 1, 2

#: What PyTorch says to who gives no window.
EXPLICIT = ("To suppress this warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.")

LEAKAGE = ("which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window "
           f"are recommended to reduce spectral leakage.{EXPLICIT}")

INVERSE = f"Please provide the same window used by stft to make the inversion lossless.{EXPLICIT}"


def _check_window(function: str, signal: Any, window: Any, size: int) -> None:
    """Raise RuntimeError unless the window is a vector of this size beside the signal."""
    if window is not None:
        check(window._device == signal._device, lambda: f"{function} input and window must be on the same device but "
              f"got self on {signal.device} and window on {window.device}")
        check(tuple(window.shape) == (size,), lambda: f"{function}: expected a 1D window tensor of size equal to "
              f"win_length={size}, but got window with size {list(window.shape)}")


def _widened(window: Any, n_fft: int) -> Any:
    """Return the window in the middle of zeros."""
    left = (n_fft - window.shape[0]) // 2
    return constant_pad_nd(window, (left, n_fft - window.shape[0] - left), 0)


def stft(self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
         center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None, align_to_window: bool | None = None) -> Any:
    """``torch.stft``: from (batch?, time) to (batch?, frequency, frame)."""
    signal = self
    if center:
        check(align_to_window is None, "stft only supports align_to_window for center = False.")
        wide = pad(self.view((*(1,) * (3 - self.ndim), *self.shape)), (n_fft // 2, n_fft // 2), pad_mode)
        signal = wide.view(wide.shape[wide.ndim - self.ndim:])
    if window is None:
        warn_once(f"A window was not provided. A rectangular window will be applied,{LEAKAGE}")
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if return_complex is None:
        return_complex = self.is_complex() or (window is not None and window.is_complex())
        check(return_complex, "stft requires the return_complex parameter be given for real inputs, and will further "
              "require that return_complex=True in a future PyTorch release.")
    elif not return_complex:
        warnings.warn("stft with return_complex=False is deprecated. In a future pytorch release, stft will return "
                      "complex tensors for all inputs, and return_complex=False will raise an error.\nNote: you can "
                      "still call torch.view_as_real on the complex output to recover the old return format.",
                      stacklevel=2)
    check(self._dtype.category >= FLOATING, "stft: expected a tensor of floating point or complex values")
    check(1 <= self.ndim <= 2, lambda: f"stft: expected a 1D or 2D tensor, but got {self.ndim}D")
    signal = signal.unsqueeze(0) if self.ndim == 1 else signal
    length = signal.shape[1]
    check(0 < n_fft <= length, lambda: f"stft: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    check(hop > 0, lambda: f"stft: expected hop_length > 0, but got hop_length={hop}")
    check(0 < size <= n_fft, lambda: f"stft: expected 0 < win_length <= n_fft, but got win_length={size}")
    _check_window("stft", self, window, size)
    if size < n_fft:
        window = _widened(self.new_ones(size) if window is None else window, n_fft)
    if align_to_window:
        signal = pad(signal.unsqueeze(0), ((n_fft - size) // 2,) * 2, pad_mode).squeeze(0)
    frames = signal.unfold(-1, n_fft, hop)
    frames = frames if window is None else frames * window
    onesided = not frames.is_complex() if onesided is None else onesided
    check(not (onesided and frames.is_complex()), "Cannot have onesided output if window or input is complex")
    scale = ROOT if normalized else NONE
    result = c2c(frames, (2,), scale, True) if frames.is_complex() else r2c(frames, (2,), scale, onesided)
    result.transpose_(1, 2)
    result = result.squeeze_(0) if self.ndim == 1 else result
    return result if return_complex else view_as_real(result)


def istft(self: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
          center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
          return_complex: bool = False) -> Any:
    """``torch.istft``: (batch?, frequency, frame) to (batch?, time), overlap-add over the squared windows' sum."""
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    check(self.is_complex(), "istft requires a complex-valued input tensor matching the output from stft with "
          "return_complex=True.")
    ndim = self.ndim + 1  # with the two parts of complex numbers, as ATen looks at them
    check(ndim > 2, lambda: f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got -3)",
          IndexError)
    check(self.numel(), "istft: input tensor cannot be empty.")
    check(2 <= self.ndim <= 3, lambda: f"istft: expected a tensor with 2 or 3 dimensions, but got {self.ndim}")
    bins, frames = self.shape[-2:]
    onesided = bins != n_fft if onesided is None else onesided
    wanted, meant = (n_fft // 2 + 1, "n_fft / 2 + 1") if onesided else (n_fft, "n_fft")
    check(bins == wanted, lambda: "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
          f"match {meant} when onesided={str(onesided).lower()}, but got {bins}")
    check(0 < hop <= size, lambda: f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}")
    check(0 < size <= n_fft, lambda: f"istft: expected 0 < win_length <= n_fft, but got win_length={size}")
    _check_window("istft", self, window, size)
    if window is None:
        warn_once(f"A window was not provided. A rectangular window will be applied.{INVERSE}")
    check(return_complex or window is None or not window.is_complex(),
          "Complex windows are incompatible with return_complex=False")
    check(not (return_complex and onesided), "Cannot have onesided output if window or input is complex")
    weights = self.new_ones(size, dtype=self._dtype.to_real()) if window is None else window
    weights = weights if size == n_fft else _widened(weights, n_fft)
    spectra = (self.unsqueeze(0) if self.ndim == 2 else self).transpose(1, 2)
    scale = ROOT if normalized else WHOLE
    if return_complex:
        pieces = c2c(spectra, (2,), scale, False)
    else:
        pieces = c2r(spectra if onesided else spectra.narrow(-1, 0, n_fft // 2 + 1), (2,), scale, n_fft)
    whole = n_fft + hop * (frames - 1)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else whole - n_fft // 2 if center else whole
    squares = weights.pow(2).expand(1, frames, n_fft)
    signal = unfold_backward(pieces * weights, (pieces.shape[0], whole), 1, n_fft, hop)[:, start:stop]
    overlap = unfold_backward(squares, (1, whole), 1, n_fft, hop)[:, start:stop]
    least = overlap.abs().min()
    check(least.is_meta or float(least) > 1e-11,
          lambda: f"istft: window overlap add min: {float(least):g} is too small: the windows leave gaps")
    signal = signal / overlap
    signal = signal.squeeze(0) if self.ndim == 2 else signal
    if stop > whole:
        warnings.warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in "
                      "the tail. Please check your center and hop_length settings.", stacklevel=2)
        signal = constant_pad_nd(signal, (0, stop - whole), 0)
    return signal


composites(istft)
operator("stft.center", composite=stft, autocast="cpu float32")
