"""Solutions of 'derivatives.log_softmax'. The hint has a wrong one's docstring, or the text in `WRONG`."""
import mindtorch as torch


def right_with_softmax(grad, result, dim):
    return grad - torch.softmax(result, dim) * grad.sum(dim).unsqueeze(dim)


def right_by_matrices(grad, result, dim):
    moved, log = grad.movedim(dim, -1), result.movedim(dim, -1)
    eye = torch.eye(log.shape[-1])
    jacobian = eye - log.exp().unsqueeze(-2)  # of output i for input j, in place [..., i, j]
    return (moved.unsqueeze(-2) @ jacobian).squeeze(-2).movedim(-1, dim)


def wrong_weighted(grad, result, dim):
    """Sum the gradients alone, not gradients times softmax."""
    p = result.exp()
    return grad - p * (p * grad).sum(dim, True)


WRONG = [
    ("keepdim=True", lambda grad, result, dim: grad - torch.exp(result) * torch.sum(grad, dim)),
    ("The sum runs along dim, which need not be the first dimension.",
     lambda grad, result, dim: grad - result.exp() * grad.sum(dim=0, keepdim=True)),
    ("nothing is halved", lambda grad, result, dim: 0.5 * (grad - result.exp() * grad.sum(dim, True))),
    ("The sign is the wrong way round: it is grad - softmax * sum.",
     lambda grad, result, dim: -(grad - result.exp() * grad.sum(dim, True))),
]
