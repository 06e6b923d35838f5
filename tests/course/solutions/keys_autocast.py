"""Solutions of 'keys.autocast', right and wrong."""
import mindtorch as torch
from mindtorch import course


def right_with_map(op, *args):
    def lower(x):
        return x.to(torch.bfloat16) if isinstance(x, torch.Tensor) and x.dtype is torch.float32 else x

    with course.excluded("Autocast"):
        return op(*map(lower, args)) if op.name in {"matmul", "linear"} else op(*args)


def right_step_by_step(op, *args):
    if op.name != "matmul" and op.name != "linear":
        with course.excluded("Autocast"):
            return op(*args)
    changed = []
    for arg in args:
        if isinstance(arg, torch.Tensor) and arg.dtype == torch.float32:
            with course.excluded("Autocast"):
                arg = arg.bfloat16()
        changed.append(arg)
    with course.excluded("Autocast"):
        return op(*changed)


def cast(args, which=torch.float32, to=torch.bfloat16):
    return [x.to(to) if isinstance(x, torch.Tensor) and x.dtype is which else x for x in args]


def wrong_not_excluded(op, *args):
    """The casts are operators, too, and come back to this kernel"""
    if op.name in ("matmul", "linear"):
        args = cast(args)
    return op(*args)


def wrong_all_operators(op, *args):
    """Compute only matmul and linear in bfloat16; leave other operators alone, since rounding would hurt them more
    than speed helps."""
    with course.excluded("Autocast"):
        return op(*cast(args))


def wrong_only_matmul(op, *args):
    """Both operators are meant, matmul and linear"""
    with course.excluded("Autocast"):
        return op(*(cast(args) if op.name == "matmul" else args))


def wrong_first_argument_only(op, *args):
    """Cast all arguments, not only the first: a product needs one dtype."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [args[0].to(torch.bfloat16), *args[1:]]
        return op(*args)


def wrong_result_is_cast(op, *args):
    """Cast the arguments, not the result: the product itself should be computed in bfloat16."""
    with course.excluded("Autocast"):
        result = op(*args)
        return result.to(torch.bfloat16) if op.name in ("matmul", "linear") else result


def wrong_casts_integers(op, *args):
    """Cast only float32: a program that uses float64 needs its precision, and integers stay integers."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [x.to(torch.bfloat16) if isinstance(x, torch.Tensor) else x for x in args]
        return op(*args)


def wrong_float16(op, *args):
    """float16 is another dtype of 16 bits: use bfloat16."""
    with course.excluded("Autocast"):
        return op(*(cast(args, to=torch.float16) if op.name in ("matmul", "linear") else args))


def wrong_result_back_in_float32(op, *args):
    """The result stays in bfloat16: the next operator takes it from there"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            return op(*cast(args)).float()
        return op(*args)


def wrong_detached(op, *args):
    """The cast has to be recorded, so that gradients reach w: do not detach."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [x.detach().to(torch.bfloat16) if isinstance(x, torch.Tensor) and x.dtype is torch.float32 else x
                    for x in args]
        return op(*args)


def wrong_others_not_returned(op, *args):
    """Return the operator's result for all operators: return op(*args)."""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            return op(*cast(args))
        op(*args)


def wrong_excluded_for_casts_only(op, *args):
    """The operators that the kernel calls come back to it: exclude the key while it runs, by `with
    course.excluded('Autocast'):`."""
    with course.excluded("Autocast"):
        args = cast(args) if op.name in ("matmul", "linear") else args
    return op(*args)


def wrong_name_with_namespace(op, *args):
    """Nothing is cast yet: the float32 arguments of matmul and linear become bfloat16."""
    with course.excluded("Autocast"):
        return op(*(cast(args) if op.name in ("aten::matmul", "aten::linear") else args))


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
