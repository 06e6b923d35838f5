"""Softmax and its logarithm."""

SCHEMAS = """
fmox softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
fmox log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
fox  _softmax(Tensor self, int dim, bool half_to_float) -> Tensor
fox  _log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
f    _safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
fox  _softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
fox  _log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
"""
