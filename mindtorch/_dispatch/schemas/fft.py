"""Discrete Fourier transforms. ``normalization``: 0 none, 1 by the root of the number of points, 2 by that number."""

CORE = """
f   _fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor
f   _fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor
f   _fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor
"""
ONE = "(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor"
TWO = "(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor"
MANY = "(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"
SHIFTS = """
-   fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor
-   fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor
"""
KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TRANSFORMS = "\n".join(f"-o fft_{kind}{suffix}{arguments}" for kind in KINDS
                       for suffix, arguments in (("", ONE), ("2", TWO), ("n", MANY)))
SCHEMAS = "\n".join((CORE, TRANSFORMS, SHIFTS))
