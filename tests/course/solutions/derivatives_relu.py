"""Solutions of 'derivatives.relu', right and wrong."""
import mindtorch as torch


def right_with_where(grad, result):
    return torch.where(result > 0, grad, torch.zeros_like(grad))


def right_with_a_fill(grad, result):
    return grad.masked_fill(result == 0, 0)


def wrong_in_place(grad, result):
    """Do not write into the gradient that arrives: return a new tensor."""
    grad[result <= 0] = 0
    return grad


def right_by_filling(grad, result):
    return grad.masked_fill(result <= 0, 0)


def right_by_indexing(grad, result):
    found = torch.zeros_like(grad)
    found[result > 0] = grad[result > 0]
    return found


WRONG = [
    ("An infinite gradient times 0 is NaN: choose with torch.where instead of multiplying",
     lambda grad, result: result.sign() * grad),
    ("Where relu returned 0 nothing passes", lambda grad, result: grad * (result >= 0)),
    ("That is only the slope: by the chain rule it is multiplied by the gradient that arrives.",
     lambda grad, result: (result > 0).to(grad.dtype)),
    ("The result decides whether the gradient passes, not the gradient's own sign.",
     lambda grad, result: grad.clamp(min=0)),
    ("The slope of relu is 1 where the result is positive, and not the result itself",
     lambda grad, result: grad * result),
    ("That is a mask of where the gradient passes, not the gradient: use it to choose between grad and 0.",
     lambda grad, result: result > 0),
    ("The result decides whether the gradient passes, not the gradient's own sign.",
     lambda grad, result: grad * (grad > 0)),
    ("It is the other way round: where the result is positive the gradient passes",
     lambda grad, result: grad * (result < 0)),
    ("Where the result is 0 nothing passes at all, not even a little",
     lambda grad, result: grad * ((result > 0).to(grad.dtype) + 0.5 * (result == 0))),
    ("The gradient has the shape of the input: put a 0 where nothing passes.", lambda grad, result: grad[result > 0]),
    ("The gradient has the shape of the input: sum nothing.", lambda grad, result: (grad * (result > 0)).sum()),
    ("Where relu returned 0 nothing passes", lambda grad, result: grad),
    ("A tensor has one truth value for each element: torch.where chooses element by element.",
     lambda grad, result: grad if result > 0 else 0),
]
