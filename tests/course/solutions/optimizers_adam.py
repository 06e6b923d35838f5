"""Solutions of 'optimizers.adam'. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch


def right_with_plain_numbers(parameter, grad, state, lr, beta1, beta2, eps):
    m, v, t = state.get("all", (0.0, 0.0, 0))
    m, v, t = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad ** 2, t + 1
    state["all"] = m, v, t
    parameter -= lr * (m / (1 - beta1 ** t)) / (torch.sqrt(v / (1 - beta2 ** t)) + eps)


def right_with_lerp_and_products(parameter, grad, state, lr, beta1, beta2, eps):
    """The corrections as running products, and the step in one fused operator."""
    if not state:
        state.update(m=torch.zeros_like(grad), v=torch.zeros_like(grad), b1=1.0, b2=1.0)
    state["b1"] *= beta1
    state["b2"] *= beta2
    state["m"].lerp_(grad, 1 - beta1)
    state["v"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    denominator = (state["v"] / (1 - state["b2"])).sqrt_().add_(eps)
    parameter.data.addcdiv_(state["m"], denominator, value=-lr / (1 - state["b1"]))


def averages(grad, state, beta1, beta2):
    state["t"] = state.get("t", 0) + 1
    state["m"] = state.get("m", 0) * beta1 + grad * (1 - beta1)
    state["v"] = state.get("v", 0) * beta2 + grad.square() * (1 - beta2)
    return state["m"], state["v"], state["t"]


def wrong_square_corrected_alone(parameter, grad, state, lr, beta1, beta2, eps):
    """The average of the gradients has to be corrected, too"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * m / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_no_momentum(parameter, grad, state, lr, beta1, beta2, eps):
    """Adam follows the average of the gradients"""
    _, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * grad / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_gradient_written(parameter, grad, state, lr, beta1, beta2, eps):
    """Do not write into the gradient."""
    right_with_plain_numbers(parameter, grad, state, lr, beta1, beta2, eps)
    grad *= 1 - beta1


def wrong_counted_from_two(parameter, grad, state, lr, beta1, beta2, eps):
    """Count the steps from 1: the first correction divides by 1 - beta ** 1."""
    state.setdefault("t", 1)
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)
