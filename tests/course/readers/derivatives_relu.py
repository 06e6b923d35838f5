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
    """That is only the slope: by the chain rule it is multiplied by the gradient that arrives."""
    return (result > 0).to(grad.dtype)


def wrong_relu_of_grad(grad, result):
    """The result decides whether the gradient passes, not the gradient's own sign."""
    return grad.clamp(min=0)


def wrong_times_result(grad, result):
    """The slope of relu is 1 where the result is positive, and not the result itself"""
    return grad * result


def wrong_mask_returned(grad, result):
    """That is a mask of where the gradient passes, not the gradient: use it to choose between grad and 0."""
    return result > 0


def wrong_mask_of_grad(grad, result):
    """The result decides whether the gradient passes, not the gradient's own sign."""
    return grad * (grad > 0)


def wrong_less(grad, result):
    """It is the other way round: where the result is positive the gradient passes"""
    return grad * (result < 0)


def wrong_half_at_zero(grad, result):
    """Where the result is 0 nothing passes at all, not even a little"""
    return grad * ((result > 0).to(grad.dtype) + 0.5 * (result == 0))


def wrong_in_place(grad, result):
    """Do not write into the gradient that arrives: return a new tensor."""
    grad[result <= 0] = 0
    return grad


def wrong_selected(grad, result):
    """The gradient has the shape of the input: put a 0 where nothing passes."""
    return grad[result > 0]


def wrong_summed(grad, result):
    """The gradient has the shape of the input: sum nothing."""
    return (grad * (result > 0)).sum()


def wrong_passes_on(grad, result):
    """Where relu returned 0 nothing passes"""
    return grad


def wrong_if(grad, result):
    """A tensor has one truth value for each element: torch.where chooses element by element."""
    return grad if result > 0 else 0
