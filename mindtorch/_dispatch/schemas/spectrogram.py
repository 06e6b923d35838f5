"""Short-time Fourier transforms: spectra of overlapping pieces of a signal, weighted by a window."""

SCHEMAS = """
function, method:
    stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor  # The spectra of the pieces of `self` that are `n_fft` long and `hop_length` apart, each multiplied by `window`.
    istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor  # The signal whose short-time Fourier transform comes nearest to `self`, in the sense of least squares.
"""
