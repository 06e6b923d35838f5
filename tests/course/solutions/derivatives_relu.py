"""Solutions of 'derivatives.relu'. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch


def right_by_filling(grad, result):
    return grad.masked_fill(result <= 0, 0)


def right_by_indexing(grad, result):
    found = torch.zeros_like(grad)
    found[result > 0] = grad[result > 0]
    return found


def wrong_passes_all(grad, result):
    """Where relu returned 0 nothing passes: the gradient passes only where the result is greater than 0."""
    return grad * 1


def wrong_at_zero(grad, result):
    """Where relu returned 0 nothing passes: the gradient passes only where the result is greater than 0."""
    return grad.masked_fill(result < 0, 0)


def wrong_way_round(grad, result):
    """the other way round"""
    return grad.masked_fill(result > 0, 0)


def wrong_slope_alone(grad, result):
    """That is only the slope: by the chain rule it is multiplied by the gradient that arrives."""
    return (result > 0).float()


def wrong_times_result(grad, result):
    """not the result itself"""
    return result * grad


def wrong_halved(grad, result):
    """not one half"""
    return grad.masked_fill(result <= 0, 0) * 0.5


def wrong_sign_of_gradient(grad, result):
    """the gradient's own sign"""
    return grad.clamp(min=0)


def wrong_both_signs(grad, result):
    """the gradient's own sign"""
    return grad.masked_fill((result <= 0) | (grad <= 0), 0)


def wrong_product(grad, result):
    """choose with torch.where"""
    return grad * result.sign()


def wrong_leaky(grad, result):
    """not even a little"""
    return torch.where(result > 0, grad, grad * 0.01)


def wrong_summed(grad, result):
    """The gradient has the shape of the input: sum nothing."""
    return grad[result > 0].sum()


def wrong_sign(grad, result):
    """The sign stays"""
    return grad.masked_fill(result <= 0, 0) * -1
