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


def wrong_no_correction(parameter, grad, state, lr, beta1, beta2, eps):
    """divide them by 1 - beta ** n"""
    m, v, _ = averages(grad, state, beta1, beta2)
    parameter -= lr * m / (v.sqrt() + eps)


def wrong_mean_corrected_alone(parameter, grad, state, lr, beta1, beta2, eps):
    """The average of the squares has to be corrected, too"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / (v.sqrt() + eps)


def wrong_square_corrected_alone(parameter, grad, state, lr, beta1, beta2, eps):
    """The average of the gradients has to be corrected, too"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * m / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_no_momentum(parameter, grad, state, lr, beta1, beta2, eps):
    """Adam follows the average of the gradients"""
    _, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * grad / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_no_root(parameter, grad, state, lr, beta1, beta2, eps):
    """Divide by the square root"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / (v / (1 - beta2 ** t) + eps)


def wrong_eps_under_the_root(parameter, grad, state, lr, beta1, beta2, eps):
    """eps is added after the root"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) * (v / (1 - beta2 ** t) + eps).rsqrt()


def wrong_no_eps(parameter, grad, state, lr, beta1, beta2, eps):
    """divided by zero"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / (v / (1 - beta2 ** t)).sqrt()


def wrong_ascent(parameter, grad, state, lr, beta1, beta2, eps):
    """against the gradient: subtract"""
    m, v, t = averages(grad, state, beta1, beta2)
    parameter += lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_new_tensor(parameter, grad, state, lr, beta1, beta2, eps):
    """The parameter has not changed"""
    m, v, t = averages(grad, state, beta1, beta2)
    return parameter - lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_state_forgotten(parameter, grad, state, lr, beta1, beta2, eps):
    """Each step starts from scratch here: keep the averages and the number of the step in state."""
    m, v, t = averages(grad, {}, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_sums(parameter, grad, state, lr, beta1, beta2, eps):
    """The new gradient counts 1 - beta"""
    t = state["t"] = state.get("t", 0) + 1
    m = state["m"] = state.get("m", 0) * beta1 + grad
    v = state["v"] = state.get("v", 0) * beta2 + grad * grad
    parameter -= lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_betas(parameter, grad, state, lr, beta1, beta2, eps):
    """beta1 belongs to the average of gradients"""
    right_with_plain_numbers(parameter, grad, state, lr, beta2, beta1, eps)


def wrong_square_of_the_mean(parameter, grad, state, lr, beta1, beta2, eps):
    """The second average is of the gradient's square, grad * grad, not of the mean's."""
    t = state["t"] = state.get("t", 0) + 1
    m = state["m"] = state.get("m", 0) * beta1 + grad * (1 - beta1)
    v = state["v"] = state.get("v", 0) * beta2 + m ** 2 * (1 - beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)


def wrong_no_rate(parameter, grad, state, lr, beta1, beta2, eps):
    """The learning rate is missing"""
    right_with_plain_numbers(parameter, grad, state, 1.0, beta1, beta2, eps)


def wrong_corrected_kept(parameter, grad, state, lr, beta1, beta2, eps):
    """Keep the averages themselves in state; the corrected ones serve this step only."""
    m, v, t = averages(grad, state, beta1, beta2)
    m /= 1 - beta1 ** t
    v /= 1 - beta2 ** t
    parameter -= lr * m / (v.sqrt() + eps)


def wrong_gradient_written(parameter, grad, state, lr, beta1, beta2, eps):
    """Do not write into the gradient."""
    right_with_plain_numbers(parameter, grad, state, lr, beta1, beta2, eps)
    grad *= 1 - beta1


def wrong_counted_from_two(parameter, grad, state, lr, beta1, beta2, eps):
    """Count the steps from 1: the first correction divides by 1 - beta ** 1."""
    state.setdefault("t", 1)
    m, v, t = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** t)) / ((v / (1 - beta2 ** t)).sqrt() + eps)
