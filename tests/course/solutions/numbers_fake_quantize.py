"""Solutions of 'numbers.fake_quantize', right and wrong."""
import mindtorch as torch


class Straight(torch.autograd.Function):
    """Rounding with a gradient by hand."""

    @staticmethod
    def forward(ctx, x, scale, zero_point, low, high):
        integers = torch.round(x / scale) + zero_point
        kept = torch.clamp(integers, low, high)
        ctx.save_for_backward(integers == kept)
        return (kept - zero_point) * scale

    @staticmethod
    def backward(ctx, grad):
        inside, = ctx.saved_tensors
        return torch.where(inside, grad, torch.zeros_like(grad)), None, None, None, None


def right_by_a_function(x, scale, zero_point, low, high):
    return Straight.apply(x, scale, zero_point, low, high)


def right_by_a_mask(x, scale, zero_point, low, high):
    """The mask multiplies x, whose own value is taken away again."""
    with torch.no_grad():
        integers = (x.div(scale) + zero_point).round()
        mask = ((integers >= low) & (integers <= high)).to(x.dtype)
        target = (integers.clamp(min=low, max=high) - zero_point).mul(scale)
        rest = target - x * mask
    return x * mask + rest


def wrong_round(x, scale, zero_point, low, high):
    """round has slope 0"""
    return (((x / scale).round() + zero_point).clamp(low, high) - zero_point) * scale


def wrong_integers(x, scale, zero_point, low, high):
    """Go back from the integers"""
    q = ((x / scale).round() + zero_point).clamp(low, high)
    return x + (q - x).detach()


def wrong_everywhere(x, scale, zero_point, low, high):
    """it flows only where low <= q <= high"""
    y = (((x / scale).round() + zero_point).clamp(low, high) - zero_point) * scale
    return x + (y - x).detach()


EDITED = right_by_a_mask
EDITS = [
    ("floor makes all numbers smaller", ".round()", ".floor()"),
    ("trunc cuts towards 0", ".round()", ".trunc()"),
    ("Clamp the integers", "integers.clamp(min=low, max=high)", "integers"),
    ("Multiply by scale on the way back", ".mul(scale)", ""),
    ("before multiplying", "integers.clamp(min=low, max=high) - zero_point", "integers.clamp(min=low, max=high)"),
    ("Divide x by scale first", "x.div(scale)", "x.mul(scale)"),
    ("not of x", "(integers >= low) & (integers <= high)", "(x >= low) & (x <= high)"),
    ("belong to the range", "(integers >= low) & (integers <= high)", "(integers > low) & (integers < high)"),
    ("it is not multiplied by scale", "return x * mask + rest",
     "return x * mask * scale + (rest + x * mask * (1 - scale)).detach()"),
    ("No gradient arrives", "return x * mask + rest", "return target"),
    ("The value must be the rounded one", "return x * mask + rest", "return x * mask + (x - x * mask).detach()"),
    ("keeps the dtype of x", "return x * mask + rest", "return (x * mask + rest).double()"),
]
