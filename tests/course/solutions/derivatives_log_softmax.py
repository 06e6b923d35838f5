"""Solutions of 'derivatives.log_softmax', right and wrong."""
import mindtorch as torch


def right_with_softmax_of_result(grad, result, dim):
    return grad - torch.softmax(result, dim) * grad.sum(dim=dim, keepdim=True)


def right_by_the_matrix_of_slopes(grad, result, dim):
    g, p = grad.transpose(dim, -1), result.exp().transpose(dim, -1)
    slopes = torch.eye(p.shape[-1], dtype=p.dtype) - p.unsqueeze(-2)      # of output i for input j
    return torch.matmul(g.unsqueeze(-2), slopes).squeeze(-2).transpose(dim, -1)


def wrong_rule_of_softmax(grad, result, dim):
    """That is the derivative of softmax; that of its logarithm is grad - softmax * the sum of grad."""
    p = result.exp()
    return p * (grad - (grad * p).sum(dim, keepdim=True))


def right_with_softmax(grad, result, dim):
    return grad - torch.softmax(result, dim) * grad.sum(dim).unsqueeze(dim)


def right_by_matrices(grad, result, dim):
    moved, log = grad.movedim(dim, -1), result.movedim(dim, -1)
    eye = torch.eye(log.shape[-1])
    jacobian = eye - log.exp().unsqueeze(-2)  # of output i for input j, in place [..., i, j]
    return (moved.unsqueeze(-2) @ jacobian).squeeze(-2).movedim(-1, dim)


WRONG = [
    ("Each output depends on all inputs, so the second term has the sum of the gradients along dim,",
     lambda grad, result, dim: grad - result.exp() * grad),
    ("The sum keeps its dimension, with size 1, so that it broadcasts against the rest: keepdim=True",
     lambda grad, result, dim: grad - result.exp() * grad.sum(dim)),
    ("The sum runs along dim, not over all elements: rows are independent of each other.",
     lambda grad, result, dim: grad - result.exp() * grad.sum()),
    ("The sum runs along dim, which need not be the last dimension.",
     lambda grad, result, dim: grad - result.exp() * grad.sum(-1, keepdim=True)),
    ("The softmax is the exponential of the log-softmax: result.exp()",
     lambda grad, result, dim: grad - result * grad.sum(dim, keepdim=True)),
    ("The second term is subtracted: raising one input lowers the others' share",
     lambda grad, result, dim: grad + result.exp() * grad.sum(dim, keepdim=True)),
    ("The first term is the gradient that arrives",
     lambda grad, result, dim: 1 - result.exp() * grad.sum(dim, keepdim=True)),
    ("The softmax is multiplied by the sum of the gradients.", lambda grad, result, dim: grad - result.exp()),
    ("In the second term, sum the gradients first, then multiply by each element's softmax.",
     lambda grad, result, dim: grad - (result.exp() * grad).sum(dim, keepdim=True)),
    ("Each output depends on all inputs, so the second term has the sum of the gradients along dim,",
     lambda grad, result, dim: grad * (1 - result.exp())),
    ("result.exp() is the softmax already: do not take it a second time.",
     lambda grad, result, dim: grad - result.exp().softmax(dim) * grad.sum(dim, keepdim=True)),
    ("The gradients are added, not averaged",
     lambda grad, result, dim: grad - result.exp() * grad.mean(dim, keepdim=True)),
    ("Each output depends on all inputs, through the sum in the denominator", lambda grad, result, dim: grad),
]
