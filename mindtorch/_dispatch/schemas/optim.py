"""Steps of optimizers over all parameters at once. Gradients, which ATen writes to unscale them, are only read."""

SCHEMAS = """
f _foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
f _fused_sgd_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
f _fused_adam_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
f _fused_adamw_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
"""
