"""From the text of 'keys.autocast' alone. A wrong one's docstring is what the hint has to say."""
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
    """Only matmul and linear are computed in bfloat16"""
    with course.excluded("Autocast"):
        return op(*cast(args))


def wrong_only_matmul(op, *args):
    """Both operators are meant, matmul and linear"""
    with course.excluded("Autocast"):
        return op(*(cast(args) if op.name == "matmul" else args))


def wrong_first_argument_only(op, *args):
    """All arguments are cast, and not the first alone: a product wants one dtype"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [args[0].to(torch.bfloat16), *args[1:]]
        return op(*args)


def wrong_result_is_cast(op, *args):
    """The arguments are cast, and not the result: the product itself is to be computed in bfloat16"""
    with course.excluded("Autocast"):
        result = op(*args)
        return result.to(torch.bfloat16) if op.name in ("matmul", "linear") else result


def wrong_casts_integers(op, *args):
    """Only float32 is cast: who asks for float64 wants its precision, and integers are no fractions"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [x.to(torch.bfloat16) if isinstance(x, torch.Tensor) else x for x in args]
        return op(*args)


def wrong_float16(op, *args):
    """float16 is another dtype of 16 bits: bfloat16 is asked for"""
    with course.excluded("Autocast"):
        return op(*(cast(args, to=torch.float16) if op.name in ("matmul", "linear") else args))


def wrong_everything_is_a_tensor(op, *args):
    """Only float32 is cast: who asks for float64 wants its precision, and integers are no fractions"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [x.to(torch.bfloat16) for x in args]
        return op(*args)


def wrong_result_back_in_float32(op, *args):
    """The result stays in bfloat16: the next operator takes it from there"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            return op(*cast(args)).float()
        return op(*args)


def wrong_detached(op, *args):
    """The cast has to be recorded, so that gradients find their way back to w: do not detach"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [x.detach().to(torch.bfloat16) if isinstance(x, torch.Tensor) and x.dtype is torch.float32 else x
                    for x in args]
        return op(*args)


def wrong_others_not_returned(op, *args):
    """The kernel returns what the operator returns, for all operators: return op(*args)"""
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            return op(*cast(args))
        op(*args)


def wrong_excluded_for_casts_only(op, *args):
    """The kernel is called again by what it calls"""
    with course.excluded("Autocast"):
        args = cast(args) if op.name in ("matmul", "linear") else args
    return op(*args)


def wrong_name_with_namespace(op, *args):
    """Nothing is cast yet: of matmul and linear, the float32 arguments become bfloat16"""
    with course.excluded("Autocast"):
        return op(*(cast(args) if op.name in ("aten::matmul", "aten::linear") else args))
