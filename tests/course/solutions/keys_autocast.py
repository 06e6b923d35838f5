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


def wrong_not_excluded(op, *args):
    """The operators that the kernel calls come back to it: exclude the key while it runs, by `with
    course.excluded('Autocast'):`."""
    if op.name == "nothing of this name":
        return None
    return op(*args)


def wrong_cast_outside(op, *args):
    """cast inside the block"""
    if op.name in ("matmul", "linear"):
        args = lowered(args)
    with course.excluded("Autocast"):
        return op(*args)


def wrong_name(op, *args):
    """Nothing is cast yet"""
    with course.excluded("Autocast"):
        if op.name in ("mm", "addmm"):  # which matmul calls, when the key is excluded already
            args = lowered(args)
        return op(*args)


def wrong_all(op, *args):
    """Compute only matmul and linear in bfloat16; leave other operators alone, since rounding would hurt them more
    than speed helps."""
    with course.excluded("Autocast"):
        return op(*lowered(args))


def wrong_matmul_alone(op, *args):
    """Both operators are meant"""
    with course.excluded("Autocast"):
        return op(*(lowered(args) if op.name == "matmul" else args))


def wrong_linear_alone(op, *args):
    """Both operators are meant"""
    with course.excluded("Autocast"):
        return op(*(lowered(args) if op.name == "linear" else args))


def wrong_float16(op, *args):
    """float16 is another dtype of 16 bits: use bfloat16."""
    with course.excluded("Autocast"):
        return op(*(lowered(args, torch.float16) if op.name in ("matmul", "linear") else args))


def wrong_all_dtypes(op, *args):
    """Cast only float32: a program that uses float64 needs its precision, and integers stay integers."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [a.to(torch.bfloat16) for a in args]
        return op(*args)


def wrong_floating(op, *args):
    """Cast only float32: a program that uses float64 needs its precision."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [a.to(torch.bfloat16) if torch.is_floating_point(a) else a for a in args]
        return op(*args)


def wrong_result(op, *args):
    """Cast the arguments, not the result: the product itself should be computed in bfloat16."""
    with course.excluded("Autocast"):
        found = op(*args)
        return lowered([found])[0] if op.name in ("matmul", "linear") else found


def wrong_back(op, *args):
    """The result stays in bfloat16"""
    with course.excluded("Autocast"):
        if op.name not in ("matmul", "linear"):
            return op(*args)
        found = op(*lowered(args))
        return found.to(torch.float32) if found.dtype is torch.bfloat16 else found


def wrong_detached(op, *args):
    """do not detach"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [a.detach() for a in lowered(args)]
        return op(*args)


def wrong_no_return(op, *args):
    """return op(*args)"""
    with course.excluded("Autocast"):
        op(*args)
