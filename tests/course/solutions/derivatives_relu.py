"""Solutions of 'derivatives.relu'. The hint has a wrong one's docstring, or the text in `WRONG`."""
import mindtorch as torch


def right_by_filling(grad, result):
    return grad.masked_fill(result <= 0, 0)


def right_by_indexing(grad, result):
    found = torch.zeros_like(grad)
    found[result > 0] = grad[result > 0]
    return found


WRONG = [
    ("not one half", lambda grad, result: grad.masked_fill(result <= 0, 0) * 0.5),
    ("the gradient's own sign", lambda grad, result: grad.masked_fill((result <= 0) | (grad <= 0), 0)),
    ("not even a little", lambda grad, result: torch.where(result > 0, grad, grad * 0.01)),
    ("The sign stays", lambda grad, result: grad.masked_fill(result <= 0, 0) * -1),
]
