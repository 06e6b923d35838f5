"""Discrete Fourier transforms. ``normalization``: 0 none, 1 by the root of the number of points, 2 by that number."""

CORE = """
function:
    _fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor  # The discrete Fourier transform of the real tensor `self` over the dimensions `dim`, without the redundant half if `onesided`.
    _fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor  # The real inverse discrete Fourier transform, with `last_dim_size` elements along the last of the dimensions `dim`, of `self`, which holds one half of a spectrum.
    _fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor  # The discrete Fourier transform of the complex tensor `self` over the dimensions `dim`, or the inverse one unless `forward`.
"""
#: What a transform computes; ``hfft`` and ``ihfft`` have the roles of time and frequency exchanged.
KINDS = {
    "fft": "The discrete Fourier transform of `self`",
    "ifft": "The inverse discrete Fourier transform of `self`",
    "rfft": "The half that is not redundant of the discrete Fourier transform of the real tensor `self`",
    "irfft": "The real tensor of whose discrete Fourier transform `self` is the half that is not redundant",
    "hfft": "The real discrete Fourier transform of a Hermitian signal of which `self` is the half that is not redundant",
    "ihfft": "The half that is not redundant of the inverse discrete Fourier transform of the real tensor `self`",
}
#: Parameters by suffix, and where the transform is computed.
DIMENSIONS = {
    "": ("int? n=None, int dim=-1", "along the dimension `dim`"),
    "2": ("int[1]? s=None, int[1] dim=[-2,-1]", "over the two dimensions `dim`"),
    "n": ("int[1]? s=None, int[1]? dim=None", "over the dimensions `dim`, or over all"),
}
TRANSFORMS = "\n".join(
    f"    fft_{kind}{suffix}(Tensor self, {parameters}, str? norm=None) -> Tensor  # {said} {where}."
    for kind, said in KINDS.items() for suffix, (parameters, where) in DIMENSIONS.items())
SHIFTS = """
operator only:
    fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor  # `self` with the frequency zero moved from the start to the middle of the dimensions `dim`.
    fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor  # `self` with the frequency zero moved from the middle to the start of the dimensions `dim`.
"""
SCHEMAS = "\n".join((CORE, "out:", TRANSFORMS, SHIFTS))
