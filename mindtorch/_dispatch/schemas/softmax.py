"""Softmax and its logarithm."""

SCHEMAS = """
fmo softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
fmo log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
-   special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
-   special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
fo  _softmax(Tensor self, int dim, bool half_to_float) -> Tensor
fo  _log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
f   _safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
fo  _softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
fo  _log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
"""
