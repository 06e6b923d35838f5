"""Activation functions and what their derivatives are written in.

Most of them have no public function in PyTorch's namespace: ``nn.functional`` gives them one.
"""

SCHEMAS = """
function, method, in-place:
    relu(Tensor self) -> Tensor  # Each element of `self`, or zero where it is negative.
operator only:
    relu6(Tensor self) -> Tensor  # Each element of `self`, limited to the range from 0 to 6.
    hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor
    elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor
    gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor
    silu_backward(Tensor grad_output, Tensor self) -> Tensor
    mish_backward(Tensor grad_output, Tensor self) -> Tensor
    hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor
    hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
    leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor
    softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
    softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
    hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
    threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
    log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)  # The logarithm of the sigmoid of each element of `self`, and a buffer for its derivative.
    log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
    glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor
    _prelu_kernel(Tensor self, Tensor weight) -> Tensor  # Each element of `self`, multiplied by the element of `weight` broadcast there where it is negative.
    _prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
    rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor
in-place, out, exact dtype, no overlap:
    hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor  # Each element of `self`, limited to the range from `min_val` to `max_val`.
    elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor  # Each element x of `self` where it is positive, otherwise `alpha` (exp x - 1).
    gelu(Tensor self, *, str approximate='none') -> Tensor  # Each element of `self` times the probability that a standard normal variable is below it, exactly or with `approximate` 'tanh'.
    silu(Tensor self) -> Tensor  # Each element of `self` times its sigmoid.
    mish(Tensor self) -> Tensor  # Each element of `self` times the hyperbolic tangent of its softplus.
    hardsigmoid(Tensor self) -> Tensor  # Each element x of `self` as x / 6 + 1 / 2, limited to the range from 0 to 1.
    hardswish(Tensor self) -> Tensor  # Each element of `self` times its hardsigmoid.
    leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor  # Each element of `self`, multiplied by `negative_slope` where it is negative.
    softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor  # The smooth form log(1 + exp(`beta` x)) / `beta` of relu for each element x of `self`, which is x itself where `beta` x exceeds `threshold`.
function, in-place:
    selu(Tensor self) -> Tensor  # Each element x of `self` where it is positive, otherwise 1.6733 (exp x - 1), times 1.0507, which keeps mean 0 and variance 1 from layer to layer.
    celu(Tensor self, Scalar alpha=1.0) -> Tensor  # Each element x of `self` where it is positive, otherwise `alpha` (exp(x / `alpha`) - 1).
out, exact dtype, no overlap:
    softshrink(Tensor self, Scalar lambd=0.5) -> Tensor  # Each element of `self` moved towards zero by `lambd`, and zero where it is nearer than that.
    log_sigmoid(Tensor self) -> Tensor  # The logarithm of the sigmoid of each element of `self`.
function, method, out, exact dtype, no overlap:
    hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor  # Each element of `self`, or zero where its absolute value is not above `lambd`.
function, in-place, out:
    threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor  # Each element of `self` that is above `threshold`, otherwise `value`.
out:
    glu(Tensor self, int dim=-1) -> Tensor  # The first half of `self` along `dim` times the sigmoid of the second.
function, method:
    prelu(Tensor self, Tensor weight) -> Tensor  # Each element of `self`, multiplied by the `weight` of its channel where it is negative.
function:
    rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor  # Each element of `self`, multiplied where it is negative by a slope drawn between `lower` and `upper`, or by their mean unless `training`.
    rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor(a!)  # Multiplies the negative elements of `self` by slopes drawn between `lower` and `upper`, or by their mean unless `training`.
in-place:
    rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor  # Each element of `self`, multiplied where it is negative by a slope drawn between `lower` and `upper`, which is written into `noise`.
"""
