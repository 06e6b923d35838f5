"""Steps of optimizers over all parameters at once. Gradients, which ATen writes to unscale them, are only read."""

SCHEMAS = """
function:
    _fused_sgd_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of stochastic gradient descent on all parameters `self` with the gradients `grads` and the learning rate `lr`.
    _fused_adam_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of Adam on all parameters `self` with the gradients `grads` and the learning rate `lr`.
    _fused_adamw_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of AdamW on all parameters `self` with the gradients `grads` and the learning rate `lr`.
    _fused_adagrad_(Tensor(a!)[] self, Tensor[] grads, Tensor(c!)[] state_sums, Tensor[] state_steps, *, float lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()  # Carries out a step of Adagrad on all parameters `self` with the gradients `grads` and the learning rate `lr`.
"""
