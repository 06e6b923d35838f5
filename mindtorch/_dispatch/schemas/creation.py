"""Factories that compute something."""

SCHEMAS = """
operator only:
    arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None) -> Tensor  # The numbers from `start` up to, but without, `end` in steps of `step`.
    linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None) -> Tensor  # `steps` numbers in equal distances from `start` to `end`, both included.
    logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None) -> Tensor  # `steps` powers of `base` whose exponents lie in equal distances from `start` to `end`, both included.
    eye.m(int n, int m, *, ScalarType? dtype=None) -> Tensor  # A matrix of `n` rows and `m` columns with ones on the main diagonal and zeros elsewhere.
"""
