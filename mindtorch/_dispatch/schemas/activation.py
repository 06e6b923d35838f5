"""Activation functions and what their derivatives are written in.

Most of them have no public function in PyTorch's namespace: ``nn.functional`` gives them one.
"""

SCHEMAS = """
fmi relu(Tensor self) -> Tensor
-   relu6(Tensor self) -> Tensor
iox hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
-   hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor
iox elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
-   elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor
fi  selu(Tensor self) -> Tensor
fi  celu(Tensor self, Scalar alpha=1.0) -> Tensor
iox gelu(Tensor self, *, str approximate='none') -> Tensor
-   gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor
iox silu(Tensor self) -> Tensor
-   silu_backward(Tensor grad_output, Tensor self) -> Tensor
iox mish(Tensor self) -> Tensor
iox hardsigmoid(Tensor self) -> Tensor
-   hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor
iox hardswish(Tensor self) -> Tensor
-   hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
iox leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
-   leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor
iox softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
-   softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
ox  softshrink(Tensor self, Scalar lambd=0.5) -> Tensor
-   softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
fmox hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
-   hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
fio threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor
-   threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
ox  log_sigmoid(Tensor self) -> Tensor
-   log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
-   log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
o   glu(Tensor self, int dim=-1) -> Tensor
-   glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor
fm  prelu(Tensor self, Tensor weight) -> Tensor
-   _prelu_kernel(Tensor self, Tensor weight) -> Tensor
-   _prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
f   rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor
f   rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor(a!)
i   rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor
-   rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor
"""
