"""Factories that compute something."""

SCHEMAS = """
-   arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None) -> Tensor
-   linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None) -> Tensor
-   logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None) -> Tensor
-   eye.m(int n, int m, *, ScalarType? dtype=None) -> Tensor
"""
