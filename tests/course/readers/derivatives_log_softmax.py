"""From the text of 'derivatives.log_softmax' alone. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch


def right_with_softmax_of_result(grad, result, dim):
    return grad - torch.softmax(result, dim) * grad.sum(dim=dim, keepdim=True)


def right_by_the_matrix_of_slopes(grad, result, dim):
    g, p = grad.transpose(dim, -1), result.exp().transpose(dim, -1)
    slopes = torch.eye(p.shape[-1], dtype=p.dtype) - p.unsqueeze(-2)      # of output i for input j
    return torch.matmul(g.unsqueeze(-2), slopes).squeeze(-2).transpose(dim, -1)


def wrong_sum_forgotten(grad, result, dim):
    """Each output depends on all inputs, so the second term has the sum of the gradients along dim,"""
    return grad - result.exp() * grad


def wrong_keepdim_forgotten(grad, result, dim):
    """The sum keeps its dimension, with size 1, so that it broadcasts against the rest: keepdim=True"""
    return grad - result.exp() * grad.sum(dim)


def wrong_sum_of_all(grad, result, dim):
    """The sum runs along dim, not over all elements: rows are independent of each other."""
    return grad - result.exp() * grad.sum()


def wrong_dim_fixed(grad, result, dim):
    """The sum runs along dim, which need not be the last dimension."""
    return grad - result.exp() * grad.sum(-1, keepdim=True)


def wrong_exp_forgotten(grad, result, dim):
    """The softmax is the exponential of the log-softmax: result.exp()"""
    return grad - result * grad.sum(dim, keepdim=True)


def wrong_plus(grad, result, dim):
    """The second term is subtracted: raising one input lowers the others' share"""
    return grad + result.exp() * grad.sum(dim, keepdim=True)


def wrong_rule_of_softmax(grad, result, dim):
    """That is the derivative of softmax; that of its logarithm is grad - softmax * the sum of grad."""
    p = result.exp()
    return p * (grad - (grad * p).sum(dim, keepdim=True))


def wrong_one_instead_of_grad(grad, result, dim):
    """The first term is the gradient that arrives"""
    return 1 - result.exp() * grad.sum(dim, keepdim=True)


def wrong_only_softmax(grad, result, dim):
    """The softmax is multiplied by the sum of the gradients."""
    return grad - result.exp()


def wrong_sum_of_product(grad, result, dim):
    """In the second term, sum the gradients first, then multiply by each element's softmax."""
    return grad - (result.exp() * grad).sum(dim, keepdim=True)


def wrong_times_grad(grad, result, dim):
    """Each output depends on all inputs, so the second term has the sum of the gradients along dim,"""
    return grad * (1 - result.exp())


def wrong_softmax_of_exp(grad, result, dim):
    """result.exp() is the softmax already: do not take it a second time."""
    return grad - result.exp().softmax(dim) * grad.sum(dim, keepdim=True)


def wrong_mean(grad, result, dim):
    """The gradients are added, not averaged"""
    return grad - result.exp() * grad.mean(dim, keepdim=True)


def wrong_only_first_term(grad, result, dim):
    """Each output depends on all inputs, through the sum in the denominator"""
    return grad
