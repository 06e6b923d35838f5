"""Solutions of 'keys.autocast'. A wrong one's docstring is what the hint has to say."""
import mindtorch as torch
from mindtorch import course


def right_with_a_function(op, *args):
    def lower(value):
        return value.bfloat16() if getattr(value, "dtype", None) == torch.float32 else value

    with course.excluded("Autocast"):
        return op(*map(lower, args)) if op.packet in {"matmul", "linear"} else op(*args)


def right_in_two_blocks(op, *args):
    if op.name not in ("matmul", "linear"):
        with course.excluded("Autocast"):
            return op(*args)
    found = []
    for value in args:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
            with course.excluded("Autocast"):
                value = value.to(dtype=torch.bfloat16)
        found.append(value)
    with course.excluded("Autocast"):
        return op(*found)


def lowered(args, dtype=torch.bfloat16):
    return [a.to(dtype) if isinstance(a, torch.Tensor) and a.dtype is torch.float32 else a for a in args]


def wrong_linear_alone(op, *args):
    """Both operators are meant"""
    with course.excluded("Autocast"):
        return op(*(lowered(args) if op.name == "linear" else args))


def wrong_floating(op, *args):
    """Cast only float32: a program that uses float64 needs its precision."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [a.to(torch.bfloat16) if torch.is_floating_point(a) else a for a in args]
        return op(*args)


def wrong_no_return(op, *args):
    """return op(*args)"""
    with course.excluded("Autocast"):
        op(*args)
