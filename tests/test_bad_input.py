"""Bad input raises what PyTorch raises, and says what and why."""
from __future__ import annotations

from operator import attrgetter

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says which exception is right")


def nested(depth):
    data = 1
    for _ in range(depth):
        data = [data]
    return data


def endless():
    data: list = []
    data.append(data)
    return data


def twice(t):
    x = t.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def modified_saved(t):
    x = t.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


#: what was done, and words that the message must have
CASES = {
    "mixed devices": (lambda t: t.ones(2) + t.ones(2, device="meta"), ["same device", "cpu", "meta"]),
    "dtypes of a product": (lambda t: t.ones(2, 2) @ t.ones(2, 2, dtype=t.int64), ["dtype"]),
    "shapes of a product": (lambda t: t.ones(2, 3) @ t.ones(2, 3), ["2x3 and 2x3"]),
    "shapes of a batched product": (lambda t: t.ones(2, 3, 4).bmm(t.ones(2, 3, 4)), ["batch"]),
    "shapes of a sum": (lambda t: t.ones(2, 3) + t.ones(2, 4), ["size of tensor a (3)", "tensor b (4)", "dimension 1"]),
    "index out of range": (lambda t: t.ones(2)[5], ["5", "out of bounds", "2"]),
    "index tensor out of range": (lambda t: t.ones(2)[t.tensor([0, 7])], ["7", "out of bounds"]),
    "too many indices": (lambda t: t.ones(2)[0, 0], ["too many indices"]),
    "mask of another shape": (lambda t: t.ones(2)[t.tensor([True, False, True])], ["mask", "3", "2"]),
    "dimension out of range": (lambda t: t.ones(2, 3).sum(5), ["Dimension out of range", "5"]),
    "dimension twice": (lambda t: t.ones(2, 3).sum((0, 0)), ["multiple times"]),
    "backward twice": (twice, ["second time", "retain_graph=True"]),
    "backward of a vector": (lambda t: (t.ones(3, requires_grad=True) * 2).backward(), ["scalar"]),
    "backward without a graph": (lambda t: t.ones(()).backward(), ["does not require grad"]),
    "gradients of integers": (lambda t: t.ones(3, dtype=t.int64, requires_grad=True), ["floating point"]),
    "gradient of another shape": (lambda t: (t.ones(3, requires_grad=True) * 2).backward(t.ones(2)), ["shape"]),
    "write to a leaf": (lambda t: t.ones(3, requires_grad=True).add_(1), ["leaf", "in-place"]),
    "write to a view of a leaf": (lambda t: t.ones(3, requires_grad=True)[0].add_(1), ["view of a leaf"]),
    "write to what backward needs": (
        modified_saved, ["modified by an inplace operation", "version 1", "expected version 0"]),
    "write to an expanded tensor": (lambda t: t.ones(1).expand(3).add_(1), ["single memory location"]),
    "write of another dtype": (lambda t: t.ones(2, dtype=t.int64).add_(0.5), ["can't be cast"]),
    "write of another shape": (lambda t: t.ones(2).add_(t.ones(3, 2)), ["doesn't match the broadcast shape"]),
    "view that cannot be": (lambda t: t.ones(2, 3).t().view(6), ["view size is not compatible", "reshape"]),
    "view of another size": (lambda t: t.ones(2, 3).view(4), ["invalid for input of size 6"]),
    "view with two unknowns": (lambda t: t.ones(2, 3).view(-1, -1), ["only one dimension can be inferred"]),
    "expand of a dimension": (lambda t: t.ones(2, 3).expand(2, 4), ["expanded size", "4", "3"]),
    "strides out of the storage": (lambda t: t.ones(4).as_strided((3, 3), (3, 1)), ["out of bounds for storage"]),
    "negative strides": (lambda t: t.ones(4).as_strided((2,), (-1,)), ["egative strides"]),
    "reading meta data": (lambda t: t.ones(2, device="meta").tolist(), ["meta"]),
    "item of meta data": (lambda t: t.ones((), device="meta").item(), ["meta"]),
    "meta to cpu": (lambda t: t.ones(2, device="meta").to("cpu"), ["meta tensor", "no data"]),
    "item of many": (lambda t: t.ones(3).item(), ["3 elements", "Scalar"]),
    "truth of many": (lambda t: bool(t.ones(3)), ["ambiguous"]),
    "length of a scalar": (lambda t: len(t.ones(())), ["0-d"]),
    "iteration over a scalar": (lambda t: list(t.ones(())), ["0-d"]),
    "negative size": (lambda t: t.zeros(-1), ["negative"]),
    "negative size of empty": (lambda t: t.empty(2, -3), ["negative dimension -3"]),
    "uncountable size": (lambda t: t.empty(2**40, 2**40), ["overflow"]),
    "more memory than there is": (lambda t: t.empty(2**50), ["allocate"]),
    "size of another type": (lambda t: t.zeros("a"), ["size"]),
    "NaN as an integer": (lambda t: t.tensor([1, float("nan")], dtype=t.int64), []),
    "infinity as an integer": (lambda t: t.tensor(float("inf"), dtype=t.int64), []),
    "too large a number": (lambda t: t.tensor(300, dtype=t.uint8), ["overflow"]),
    "far too large a number": (lambda t: t.tensor(2**70), []),
    "ragged lists": (lambda t: t.tensor([[1, 2], [3]]), ["expected sequence of length 2 at dim 1 (got 1)"]),
    "a number beside a list": (lambda t: t.tensor([[1, 2], 3]), []),
    "endless lists": (lambda t: t.tensor(endless()), ["too many dimensions"]),
    "deep lists": (lambda t: t.tensor(nested(200)), ["too many dimensions"]),
    "a string": (lambda t: t.tensor("a"), ["str"]),
    "None": (lambda t: t.tensor(None), ["NoneType"]),
    "a list of None": (lambda t: t.tensor([None]), ["NoneType"]),
    "an unknown device": (lambda t: t.ones(2, device="tpu"), ["tpu"]),
    "a malformed device": (lambda t: t.device("cpu:x"), ["cpu:x"]),
    "a missing argument": (lambda t: t.add(t.ones(2)), ["other"]),
    "an argument of another type": (lambda t: t.add(t.ones(2), "x"), ["other", "str"]),
    "an unknown keyword": (lambda t: t.ones(2).sum(dimension=0), ["dimension"]),
    "requires_grad off on a non-leaf": (lambda t: (t.ones(2, requires_grad=True) * 2).requires_grad_(False), ["leaf"]),
    "numpy of what requires grad": (lambda t: t.ones(2, requires_grad=True).numpy(), ["requires grad", "detach"]),
    "out= with grad": (lambda t: t.add(t.ones(2, requires_grad=True), 1, out=t.ones(2)), ["out=", "differentiation"]),
    "cat of different shapes": (
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]), ["Sizes of tensors must match", "dimension 0"]),
    "cat of nothing": (lambda t: t.cat([]), ["non-empty"]),
    "subtraction of bools": (lambda t: t.tensor([True]) - t.tensor([True]), ["bool"]),
    "division of integers by zero": (lambda t: t.tensor([1]) // t.tensor([0]), ["ZeroDivisionError"]),
    "negative power of an integer": (lambda t: t.tensor([2]) ** -1, ["negative integer powers"]),
    "maximum of nothing": (lambda t: t.ones(0).max(), ["numel() == 0"]),
    "classes out of range": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 5])), ["5", "out of bounds"]),
    "targets of floats": (lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.ones(2)), ["Long"]),
    "batch sizes of a loss": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0])), ["batch_size"]),
    "features of a layer": (lambda t: t.nn.Linear(3, 2)(t.ones(2, 4)), ["2x4 and 3x2"]),
    **{
        f"{name} {what}": (do, words)
        for name in ("zeros", "ones", "empty", "rand", "randn")
        for what, do, words in (
            ("of no size", lambda t, name=name: getattr(t, name)(), [name, "size"]),
            ("with an unknown argument", lambda t, name=name: getattr(t, name)(3, dtyp=t.int64), [name, "dtyp"]),
            ("of two sizes", lambda t, name=name: getattr(t, name)(3, size=(2,)), [name, "size"]),
        )
    },
    **{
        f"{name} of no tensor": (
            lambda t, name=name, rest=rest: getattr(t, name)((0, 0), *rest),
            [f"{name}(): argument 'input'", "not tuple"])
        for name, rest in (("empty_like", ()), ("zeros_like", ()), ("ones_like", ()), ("full_like", (1,)),
                           ("rand_like", ()), ("randn_like", ()), ("randint_like", (5,)))
    },
    "a cast of no dtype": (lambda t: t.can_cast("x", None), ["can_cast(): argument 'from_'", "torch.dtype, not str"]),
    "a cast to no dtype": (lambda t: t.can_cast(t.int64, 3), ["can_cast(): argument 'to'", "torch.dtype, not int"]),
    "a promotion of no dtypes": (lambda t: t.promote_types(3, 3), ["promote_types(): argument 'type1'", "not int"]),
    "an equation that is no string": (lambda t: t.einsum(3, 4), ["einsum(): argument 'equation'", "str, not int"]),
    "an operand of einsum that is no tensor": (lambda t: t.einsum("i,i", t.ones(1), [3]), ["element 1", "list"]),
    "an optimizer without parameters": (lambda t: t.optim.SGD([], lr=0.1), ["empty parameter list"]),
    "a learning rate below zero": (lambda t: t.optim.SGD([t.ones(1, requires_grad=True)], lr=-1), ["learning rate"]),
}


def raised(do, library):
    try:
        do(library)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", CASES)
def test_the_exception_is_pytorchs_and_says_why(name):
    do, words = CASES[name]
    theirs, ours = raised(do, torch), raised(do, mindtorch)
    assert theirs is not None, "PyTorch accepts this"
    assert ours is not None, f"accepted, but PyTorch raises {type(theirs).__name__}: {theirs}"
    assert type(ours).__name__ == type(theirs).__name__ or isinstance(ours, type(theirs)), (
        f"{ours!r} instead of {theirs!r}"
    )
    for word in words:
        assert word.lower() in str(ours).lower(), f"{ours} does not say {word!r}; PyTorch says: {theirs}"
    assert str(ours).strip()
    assert ours.__context__ is None or ours.__suppress_context__, f"shown below another error: {ours.__context__!r}"


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: mindtorch.nn.functional.huber_loss(None, mindtorch.ones(2)), AttributeError, "'input' must be Tensor"),
    (lambda: mindtorch.nn.functional.l1_loss(mindtorch.ones(2), 3), AttributeError, "'target' must be Tensor"),
    (lambda: mindtorch.nn.init.xavier_normal_(2.0), AttributeError, "'tensor' of an initialisation must be Tensor"),
    (lambda: mindtorch.optim.SGD([mindtorch.nn.Parameter(mindtorch.ones(2))], lr="x"), TypeError, "learning rate"),
    (lambda: mindtorch.nn.BCELoss()(mindtorch.ones(2)), TypeError, r"^BCELoss.forward\(\) missing"),
    (lambda: mindtorch.nn.MSELoss()(mindtorch.ones(2)), TypeError, r"^MSELoss.forward\(\) missing"),
    (lambda: mindtorch.tensor_split(mindtorch.ones(3), 2**31), RuntimeError, "not enough memory"),
])
def test_functions_of_python_name_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_error_that_is_raised_again_and_again_remembers_no_more():
    kept = RuntimeError("again")

    class Again(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise kept.with_traceback(None)

    counts = set()
    for _ in range(5):
        with pytest.raises(RuntimeError, match="again"):
            Again.apply(mindtorch.ones(2))
        counts.add(len(kept.__dict__["_about"].calls) if "_about" in kept.__dict__ else 0)
    assert len(counts) == 1


#: Settings, by their path, and the arguments before the one that has another type.
SETTINGS = {"set_anomaly_enabled": (), "autograd.set_detect_anomaly": (), "set_grad_enabled": (),
            "autograd.set_multithreading_enabled": (), "set_autocast_enabled": ("cpu",), "set_autocast_dtype": ("cpu",),
            "set_autocast_cpu_enabled": (), "set_autocast_cache_enabled": (), "is_autocast_enabled": (),
            "get_autocast_dtype": (), "set_flush_denormal": (), "set_warn_always": (),
            "set_float32_matmul_precision": (), "use_deterministic_algorithms": ()}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_refuses_other_types(name):
    for value in (1, 1.5, [], object()):
        found = []
        for t in (mindtorch, torch):
            with pytest.raises((TypeError, RuntimeError), match=type(value).__name__) as raised:
                attrgetter(name)(t)(*SETTINGS[name], value)
            found.append((raised.type, str(raised.value)))
        (ours, message), (theirs, wanted) = found
        assert ours is theirs and (message == wanted or "must be a bool" in wanted)
