"""Softmax and its logarithm."""

SCHEMAS = """
fmoe softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
fmoe log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
foe  _softmax(Tensor self, int dim, bool half_to_float) -> Tensor
foe  _log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
f    _safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
foe  _softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
foe  _log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
"""
