"""The modules against PyTorch's own database of modules with sample inputs (``module_db``)."""
from __future__ import annotations

import inspect
import warnings

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import Outcome, assert_same, port, torch

module_db = pytest.importorskip("torch.testing._internal.common_modules", reason="needs PyTorch").module_db

#: Entries of the database whose modules come with recurrence and losses.
LATER = {
    name for name in (info.name for info in module_db)
    if any(part in name for part in ("RNN", "LSTM", "GRU", "CTC", "LinearCrossEntropy"))
    # they are made with modules and functions: see module_db.py
    or any(part in name for part in ("Transformer", "MultiheadAttention"))
}
INFOS = {info.name: info for info in module_db if info.name not in LATER}


def samples(info, training):
    return info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True,
                                   training=training)


def built(sample, info):
    """The sample's module in PyTorch and in mindtorch, with the same state."""
    arguments = sample.constructor_input
    theirs = info.module_cls(*arguments.args, **arguments.kwargs)
    args, kwargs = port((arguments.args, arguments.kwargs), mindtorch)
    ours = getattr(mindtorch.nn, info.module_cls.__name__)(*args, **kwargs)
    theirs.to(torch.float32)  # some buffers are given in float64
    ours.to(mindtorch.float32)
    if "Lazy" in info.name:  # which have no state yet, but the same numbers at their first call
        return ours, theirs
    ours.load_state_dict(port(dict(theirs.state_dict()), mindtorch))
    return ours, theirs


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", INFOS)
@pytest.mark.filterwarnings("ignore")
def test_outputs_and_gradients(name, training):
    info = INFOS[name]
    for sample in samples(info, training):
        ours, theirs = built(sample, info)
        ours.train(training)
        theirs.train(training)
        assert repr(ours) == repr(theirs)
        inputs = sample.forward_input
        given = port((inputs.args, inputs.kwargs), mindtorch)
        torch.manual_seed(3)
        mindtorch.manual_seed(3)
        result, expected = ours(*given[0], **given[1]), theirs(*inputs.args, **inputs.kwargs)
        assert_same(result, expected)
        if isinstance(expected, tuple):  # values and indices
            result, expected = result[0], expected[0]
        if not expected.requires_grad:
            continue
        # mindtorch has one overload for numbers and tensors where PyTorch has two, DivBackward0 and
        # DivBackward1
        assert result.grad_fn.name().rstrip("01") == expected.grad_fn.name().rstrip("01")
        result.sum().backward()
        expected.sum().backward()
        mines, others = [*given[0], *ours.parameters()], [*inputs.args, *theirs.parameters()]
        for mine, other in zip(mines, others, strict=True):
            if isinstance(other, torch.Tensor) and other.requires_grad and other.is_leaf:
                assert_same(mine.grad, other.grad)


def signature(cls):
    """The names and defaults of what a module is made with."""
    return [(p.name, p.kind, getattr(p.default, "__name__", p.default))
            for p in inspect.signature(cls).parameters.values()]


#: Where PyTorch says (*args, **kwargs), ours says the names.
SAYS_MORE = {"RNN"}


@pytest.mark.parametrize("name", [name for name in mindtorch.nn.modules.__all__ if name not in {"Module", *SAYS_MORE}])
def test_signatures(name):
    assert signature(getattr(mindtorch.nn, name)) == signature(getattr(torch.nn, name))


@pytest.mark.parametrize("name", SAYS_MORE)
def test_signature_has_names_where_pytorchs_has_none(name):
    assert [parameter for parameter, *_ in signature(getattr(torch.nn, name))] == ["args", "kwargs"]
    assert signature(getattr(mindtorch.nn, name))[0][0] == "input_size"


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("make", [
    lambda t, b: t.nn.Linear(17, 5, bias=b), lambda t, b: t.nn.Bilinear(3, 4, 5, bias=b),
])
def test_initial_values_are_those_of_the_seed(make, bias):
    torch.manual_seed(11)
    mindtorch.manual_seed(11)
    theirs, ours = make(torch, bias), make(mindtorch, bias)
    assert_same(dict(ours.state_dict()), dict(theirs.state_dict()), rtol=0, atol=0)


REFUSED = {
    "dropout": lambda t: t.nn.Dropout(1.5),
    "hardtanh": lambda t: t.nn.Hardtanh(1, 1),
    "softmax2d": lambda t: t.nn.Softmax2d()(t.ones(2, 2)),
    "bilinear": lambda t: t.nn.Bilinear(0, 1, 1),
    "unflatten": lambda t: t.nn.Unflatten(1, 3),
    "unflatten with a float": lambda t: t.nn.Unflatten(1, (2, 1.5)),
    "multi margin p": lambda t: t.nn.MultiMarginLoss(p=3),
    "multi margin weight": lambda t: t.nn.MultiMarginLoss(weight=t.ones(2, 2)),
    "triplet margin": lambda t: t.nn.TripletMarginLoss(margin=0),
    "triplet margin with distance": lambda t: t.nn.TripletMarginWithDistanceLoss(margin=0),
    "linear of something else": lambda t: t.nn.Linear(2, 2)([1.0]),
    "linear of another size": lambda t: t.nn.Linear(2, 2)(t.ones(3, 3)),
    "loss reduction": lambda t: t.nn.MSELoss(reduction="x")(t.ones(2), t.ones(2)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusing(case):
    same(REFUSED[case])


def test_modules_name_the_constants_that_pytorchs_name():
    def named(module):
        return set(getattr(module, "__constants__", ()))

    classes = {name: cls for name, cls in vars(torch.nn).items()
               if isinstance(cls, type) and issubclass(cls, torch.nn.Module) and hasattr(mindtorch.nn, name)}
    missing = {name: named(cls) - named(getattr(mindtorch.nn, name)) for name, cls in classes.items()}
    assert missing == {name: set() for name in classes}


def test_deprecated_arguments_warn():
    def program(t):
        with pytest.warns(UserWarning, match="size_average and reduce"):
            loss = t.nn.MSELoss(size_average=False)
        with pytest.warns(FutureWarning, match="min_value"):
            return loss.reduction, t.nn.Hardtanh(min_value=-2)

    same(program)


def test_implicit_dimensions_warn_where_the_module_is_called():
    def program(t):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = [module(t.ones(2, 3)) for module in (t.nn.Softmax(), t.nn.Softmin(), t.nn.LogSoftmax())]
        files.append({w.filename for w in caught})
        return result, [str(w.message) for w in caught]

    files = []
    same(program)
    assert files[1] == {__file__}


@pytest.mark.parametrize("loss", ["CrossEntropyLoss", "MSELoss", "NLLLoss", "BCELoss", "L1Loss", "HuberLoss"])
def test_a_loss_that_is_made_with_scores_and_targets_raises_pytorchs_error(loss):
    def made(lib):
        return Outcome.of(getattr(lib.nn, loss), lib.ones(4, 3), lib.tensor([0, 1, 2, 0]))

    ours, theirs = made(mindtorch), made(torch)
    assert (ours.kind(), str(ours.error).partition("<")[0]) == (theirs.kind(), str(theirs.error).partition("<")[0])
    assert theirs.error is not None
