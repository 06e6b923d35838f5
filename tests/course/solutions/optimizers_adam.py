"""Solutions of 'optimizers.adam', right and wrong."""
import mindtorch as torch


def right_with_lerp(parameter, grad, state, lr, beta1, beta2, eps):
    if not state:
        state.update(n=0, m=torch.zeros_like(parameter), v=torch.zeros_like(parameter))
    state["n"] += 1
    state["m"].lerp_(grad, 1 - beta1)
    state["v"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    m = state["m"] / (1 - beta1 ** state["n"])
    v = state["v"] / (1 - beta2 ** state["n"])
    parameter.addcdiv_(m, v.sqrt().add_(eps), value=-lr)


def right_with_sums_that_fade(parameter, grad, state, lr, beta1, beta2, eps):
    """Sums and their weights fade together, so that their quotient is the corrected average."""
    for name, beta, value in (("mean", beta1, grad), ("square", beta2, grad ** 2)):
        total, weight = state.get(name, (0, 0))
        state[name] = beta * total + (1 - beta) * value, beta * weight + 1 - beta
    mean, square = (state[name][0] / state[name][1] for name in ("mean", "square"))
    parameter.copy_(parameter - lr * mean / (square.sqrt() + eps))


def averages(grad, state, beta1, beta2):
    n = state["n"] = state.get("n", 0) + 1
    m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * grad
    v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * grad * grad
    return n, m, v


def wrong_adds(parameter, grad, state, lr, beta1, beta2, eps):
    """A step moves against the gradient: subtract."""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter += lr * (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)


def wrong_new_tensor(parameter, grad, state, lr, beta1, beta2, eps):
    """The parameter has not changed: write into it, with sub_ or -=. An assignment makes a new tensor."""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter = parameter - lr * (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)
    return parameter


def wrong_no_correction(parameter, grad, state, lr, beta1, beta2, eps):
    """The averages begin at zero and are too small at first"""
    _, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * m / (v.sqrt() + eps)


def wrong_only_the_mean_is_corrected(parameter, grad, state, lr, beta1, beta2, eps):
    """The average of the squares has to be corrected, too"""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** n)) / (v.sqrt() + eps)


def wrong_correction_remembered(parameter, grad, state, lr, beta1, beta2, eps):
    """Keep the averages themselves in state; the corrected ones serve this step only."""
    n, m, v = averages(grad, state, beta1, beta2)
    state["m"] = m / (1 - beta1 ** n)
    state["v"] = v / (1 - beta2 ** n)
    parameter -= lr * state["m"] / (state["v"].sqrt() + eps)


def wrong_counts_from_zero(parameter, grad, state, lr, beta1, beta2, eps):
    """Count the steps from 1: the first correction divides by 1 - beta ** 1, not by 0."""
    n, m, v = averages(grad, state, beta1, beta2)
    n -= 1
    parameter -= lr * (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)


def wrong_root_forgotten(parameter, grad, state, lr, beta1, beta2, eps):
    """Divide by the square root of the average of squares"""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** n)) / (v / (1 - beta2 ** n) + eps)


def wrong_eps_under_the_root(parameter, grad, state, lr, beta1, beta2, eps):
    """eps is added after the root, and not under it"""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** n)) / (v / (1 - beta2 ** n) + eps).sqrt()


def wrong_eps_forgotten(parameter, grad, state, lr, beta1, beta2, eps):
    """eps is missing: a gradient of zero is divided by zero"""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** n)) / (v / (1 - beta2 ** n)).sqrt()


def wrong_betas_swapped(parameter, grad, state, lr, beta1, beta2, eps):
    """beta1 belongs to the average of gradients, and beta2 to that of squares"""
    n, m, v = averages(grad, state, beta2, beta1)
    parameter -= lr * (m / (1 - beta2 ** n)) / ((v / (1 - beta1 ** n)).sqrt() + eps)


def wrong_weights_swapped(parameter, grad, state, lr, beta1, beta2, eps):
    """The old average counts beta and the new gradient 1 - beta: these two are exchanged"""
    n, m, v = averages(grad, state, 1 - beta1, 1 - beta2)
    parameter -= lr * (m / (1 - (1 - beta1) ** n)) / ((v / (1 - (1 - beta2) ** n)).sqrt() + eps)


def wrong_state_not_kept(parameter, grad, state, lr, beta1, beta2, eps):
    """Each step starts from scratch here: keep the averages and the number of the step in state."""
    n, m, v = averages(grad, {}, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)


def wrong_count_not_kept(parameter, grad, state, lr, beta1, beta2, eps):
    """Count the steps, and keep the number in state: the correction is different in each step."""
    _, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1)) / ((v / (1 - beta2)).sqrt() + eps)


def wrong_square_without_average(parameter, grad, state, lr, beta1, beta2, eps):
    """Divide by the root of the average of squares, not by the size of this gradient."""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter -= lr * (m / (1 - beta1 ** n)) / (grad.abs() + eps)


def wrong_mean_squared(parameter, grad, state, lr, beta1, beta2, eps):
    """The second average is of the gradient's square, grad * grad, not of the mean's."""
    n = state["n"] = state.get("n", 0) + 1
    m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * grad
    v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * m * m
    parameter -= lr * (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)


def wrong_starts_with_the_gradient(parameter, grad, state, lr, beta1, beta2, eps):
    """The new gradient counts 1 - beta in the average, not in full."""
    n = state["n"] = state.get("n", 0) + 1
    m = state["m"] = beta1 * state.get("m", grad) + (1 - beta1) * grad
    v = state["v"] = beta2 * state.get("v", grad * grad) + (1 - beta2) * grad * grad
    parameter -= lr * (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)


def wrong_learning_rate_forgotten(parameter, grad, state, lr, beta1, beta2, eps):
    """The learning rate is missing"""
    n, m, v = averages(grad, state, beta1, beta2)
    parameter -= (m / (1 - beta1 ** n)) / ((v / (1 - beta2 ** n)).sqrt() + eps)


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
