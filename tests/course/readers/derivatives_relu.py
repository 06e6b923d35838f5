"""From the text of 'derivatives.relu' alone. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch


def right_with_where(grad, result):
    return torch.where(result > 0, grad, torch.zeros_like(grad))


def right_with_a_fill(grad, result):
    return grad.masked_fill(result == 0, 0)


def wrong_sign(grad, result):
    """An infinite gradient times 0 is NaN: choose with torch.where instead of multiplying"""
    return result.sign() * grad


def wrong_greater_or_equal(grad, result):
    """Where relu returned 0 nothing passes"""
    return grad * (result >= 0)


def wrong_grad_forgotten(grad, result):
    """That is the slope alone: by the chain rule it is multiplied with the gradient that arrives"""
    return (result > 0).to(grad.dtype)


def wrong_relu_of_grad(grad, result):
    """Whether the gradient passes depends on the result, and not on the gradient's own sign"""
    return grad.clamp(min=0)


def wrong_times_result(grad, result):
    """The slope of relu is 1 where the result is positive, and not the result itself"""
    return grad * result


def wrong_mask_returned(grad, result):
    """That says where the gradient passes, and is not the gradient"""
    return result > 0


def wrong_mask_of_grad(grad, result):
    """Whether the gradient passes depends on the result, and not on the gradient's own sign"""
    return grad * (grad > 0)


def wrong_less(grad, result):
    """It is the other way round: where the result is positive the gradient passes"""
    return grad * (result < 0)


def wrong_half_at_zero(grad, result):
    """Where the result is 0 nothing passes at all, not even a little"""
    return grad * ((result > 0).to(grad.dtype) + 0.5 * (result == 0))


def wrong_in_place(grad, result):
    """The gradient that arrives belongs to others: return a new tensor"""
    grad[result <= 0] = 0
    return grad


def wrong_selected(grad, result):
    """The gradient has the shape of the input: where nothing passes stands a 0"""
    return grad[result > 0]


def wrong_summed(grad, result):
    """The gradient has the shape of the input: nothing is summed"""
    return (grad * (result > 0)).sum()


def wrong_passes_on(grad, result):
    """Where relu returned 0 nothing passes"""
    return grad


def wrong_if(grad, result):
    """A tensor has many truth values: torch.where chooses for each element"""
    return grad if result > 0 else 0
