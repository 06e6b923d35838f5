"""Solutions of 'derivatives.log_softmax'. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch


def right_with_softmax(grad, result, dim):
    return grad - torch.softmax(result, dim) * grad.sum(dim).unsqueeze(dim)


def right_by_matrices(grad, result, dim):
    moved, log = grad.movedim(dim, -1), result.movedim(dim, -1)
    eye = torch.eye(log.shape[-1])
    jacobian = eye - log.exp().unsqueeze(-2)  # of output i for input j, in place [..., i, j]
    return (moved.unsqueeze(-2) @ jacobian).squeeze(-2).movedim(-1, dim)


def wrong_log(grad, result, dim):
    """result.exp()"""
    return grad - result * grad.sum(dim, True)


def wrong_first_term_alone(grad, result, dim):
    """a second term is missing"""
    return grad.clone()


def wrong_by_itself(grad, result, dim):
    """Each output depends on all inputs, so the second term has the sum of the gradients along dim, not each gradient
    by itself."""
    return grad * (1 - result.exp())


def wrong_no_keepdim(grad, result, dim):
    """keepdim=True"""
    return grad - torch.exp(result) * torch.sum(grad, dim)


def wrong_all_elements(grad, result, dim):
    """not over all elements"""
    return grad - result.exp() * grad.sum().item()


def wrong_last_dim(grad, result, dim):
    """The sum runs along dim, which need not be the last dimension."""
    return grad - result.exp() * grad.sum(dim=-1, keepdim=True)


def wrong_first_dim(grad, result, dim):
    """The sum runs along dim, which need not be the first dimension."""
    return grad - result.exp() * grad.sum(dim=0, keepdim=True)


def wrong_mean(grad, result, dim):
    """not averaged"""
    return grad - result.exp() * grad.sum(dim, True) / grad.shape[dim]


def wrong_plus(grad, result, dim):
    """The second term is subtracted"""
    return grad + result.exp() * grad.sum(dim, True)


def wrong_halved(grad, result, dim):
    """nothing is halved"""
    return 0.5 * (grad - result.exp() * grad.sum(dim, True))


def wrong_of_softmax(grad, result, dim):
    """the derivative of softmax"""
    p = result.exp()
    return p * grad - p * (p * grad).sum(dim, True)


def wrong_weighted(grad, result, dim):
    """Sum the gradients alone, not gradients times softmax."""
    p = result.exp()
    return grad - p * (p * grad).sum(dim, True)


def wrong_chain(grad, result, dim):
    """The first term is the gradient"""
    return torch.ones_like(grad) - result.exp() * grad.sum(dim, True)


def wrong_turned(grad, result, dim):
    """The sign is the wrong way round: it is grad - softmax * sum."""
    return -(grad - result.exp() * grad.sum(dim, True))
