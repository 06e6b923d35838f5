"""Softmax and its logarithm."""

SCHEMAS = """
function, method, out, exact dtype:
    softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The exponentials of `self`, divided by their sum along `dim`.
    log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The logarithm of the softmax of `self` along `dim`, computed without overflow.
function, out, exact dtype:
    _softmax(Tensor self, int dim, bool half_to_float) -> Tensor  # The exponentials of `self`, divided by their sum along `dim`, for `softmax`.
    _log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor  # The logarithm of the softmax of `self` along `dim`, for `log_softmax`.
    _softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor  # The gradient of softmax with the result `output` along `dim`, for the gradient `grad_output` of its result.
    _log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor  # The gradient of log_softmax with the result `output` along `dim`, for the gradient `grad_output` of its result.
function:
    _safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The softmax of `self` along `dim`, which is zero where all elements are minus infinity.
"""
