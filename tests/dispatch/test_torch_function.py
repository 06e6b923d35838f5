"""``__torch_function__``: subclasses, duck types and modes are asked as PyTorch asks them."""
from __future__ import annotations

import copy
import importlib
import subprocess
import sys
import warnings

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
BOTH = pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])


def overrides(t):
    return importlib.import_module(f"{t.__name__}.overrides")


def plain(t):
    class Plain(t.Tensor):
        pass

    return Plain


def logger(t):
    """Make a mode that notes the name of every function."""

    class Logger(overrides(t).TorchFunctionMode):
        def __init__(self):
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(overrides(t).resolve_name(func))
            return func(*args, **(kwargs or {}))

    return Logger()


@BOTH
@pytest.mark.parametrize("mixed", [False, True])
def test_the_dictionary_of_a_tensor_has_the_attributes_that_a_program_gave_it(t, mixed) -> None:
    class Noted:
        pass

    class Marked(*([Noted] if mixed else []), t.Tensor):
        pass

    x = t.ones(2, 3).as_subclass(Marked)
    assert vars(x) == {} and vars(t.nn.Parameter(x.as_subclass(t.Tensor))) == {}
    x.label = "a"
    row = x[0]
    row.__dict__ = x.__dict__.copy()
    assert row.shape == (3,) and row.label == "a" and vars(row) == {"label": "a"}
    row.__dict__.update(other=2)
    row.__dict__["third"] = 3
    del row.__dict__["label"]
    assert row.other == 2 and row.third == 3 and not hasattr(row, "label") and "other" in dir(row)
    assert row.__dict__.pop("absent", 5) == 5 and row.__dict__.pop("other") == 2
    assert row.__dict__.setdefault("fourth", 4) == 4 and not hasattr(row, "other")
    assert copy.deepcopy(row.__dict__) == {"third": 3, "fourth": 4} and type(copy.deepcopy(row.__dict__)) is dict
    row.__dict__.clear()
    assert vars(row) == {} and row.sum() == 3 and x.label == "a"


def duck(t, answer="quack"):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return answer

    return Duck()


EXPRESSIONS = [
    "x + 1", "1 + x", "y + x", "x - y", "1 - x", "x * y", "x / y", "2 / x", "x // 2", "3 // x", "x % 2", "x ** 2",
    "2 ** x", "-x", "+x", "abs(x)", "x == y", "x < y", "x @ x.T", "x.relu()", "t.relu(x)", "t.add(x, y, alpha=2)",
    "x.sum(0)", "t.cat([x, y])", "t.stack([y, x])[0]", "x[0]", "x[:, 1:]", "x[x > 0]", "y[x > 0]", "x.T", "x.t()",
    "x.view(-1)", "x.clone()", "x.detach()", "x.new_zeros(2)", "t.zeros_like(x)", "x.double()", "x.to(t.int64)",
    "t.nn.functional.relu(x)", "t.nn.functional.linear(x, y)", "t.nn.functional.softmax(x, 0)",
    "t.einsum('ij->j', x)", "x.max(0).values", "x.unbind()[0]", "t.split(x, 1)[0]", "t.where(x > 0, x, y)",
    "x.mean().exp()", "t.nn.functional.mse_loss(x, y)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_results_keep_the_subclass(expression):
    kinds = []
    for t in (torch, mindtorch):
        y = t.tensor([[1.0, 2.0], [3.0, -4.0]])
        result = eval(expression, {"t": t, "x": y.clone().as_subclass(plain(t)), "y": y})
        kinds.append(type(result).__name__)
    assert kinds == ["Plain", "Plain"]


CALLS = [
    "x + y", "1 + x", "x - 1", "1 - x", "x / 2", "2 / x", "2 ** x", "x ** 2", "-x", "abs(x)", "x == y", "x > y",
    "x @ y", "x & 1 if 0 else 0", "y.add_(1)", "y.__iadd__(1)", "x.relu()", "t.relu(x)", "t.nn.functional.relu(x)",
    "x[0]", "x[0:1]", "y.__setitem__(0, 1.0)", "x.shape", "x.T", "x.grad", "x.size()", "x.dim()", "len(x)",
    "x.detach()", "t.zeros(2)", "t.tensor([1.0])", "t.arange(3)", "t.rand(2)", "t.zeros_like(x)", "x.new_zeros(2)",
    "x.to(t.float64)", "x.double()", "t.einsum('ij,jk->ik', x, y)", "t.split(x, 1)", "x.split(1)", "x.sum().item()",
    "bool(x.sum())", "float(x.sum())", "t.cat([x, y])", "x.device", "x.dtype", "x.is_leaf", "x.requires_grad",
    "repr(x)", "y.numpy()", "t.add(x, y, alpha=2)", "t.max(x, 0)", "1 // y", "y % 2", "x.unflatten(0, (1, 2))",
    "t.is_tensor(x)", "x.data", "x.is_floating_point()", "t.is_floating_point(x)", "t.nn.functional.softmax(x, 0)",
    "1 in x", "t.linalg.norm(x)", "t.fft.fft(x)", "x.numel()", "y.tolist()", "x.ndim", "y.storage_offset()",
    "x.grad_fn", "y.clone()", "t.randn_like(x)", "x.real", "x.register_hook(lambda g: g)", "x.requires_grad_()",
    "t.nn.functional.dropout(x)", "t.as_tensor([1])",
]


@pytest.mark.parametrize("call", CALLS)
def test_a_mode_sees_the_same_functions(call):
    seen = []
    for t in (torch, mindtorch):
        names = {"t": t, "x": t.ones(2, 2, requires_grad=True), "y": t.ones(2, 2)}
        with logger(t) as mode:
            eval(call, names)
        seen.append(mode.seen)
    assert seen[1] == seen[0]


@BOTH
def test_a_duck_type_is_asked_by_functions_operators_and_indexing(t):
    x, other = t.ones(2), duck(t)
    assert t.add(x, other) == t.relu(other) == x + other == t.cat([x, other]) == t.nn.functional.relu(other) == "quack"
    assert t.nn.functional.linear(x, other) == x.add(other) == t.sum(other, dim=0) == x @ other == "quack"
    assert t.nn.functional.cross_entropy(x, other) == t.where(x > 0, other, x) == x.matmul(other) == "quack"


@BOTH
def test_types_are_ordered_with_subclasses_first(t):
    class Base(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Sub(Base):
        pass

    order = []
    base, sub = t.ones(2).as_subclass(Base), t.ones(2).as_subclass(Sub)
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        t.add(base, sub)
    assert order == ["Sub", "Base"]


@BOTH
def test_functions_are_found_by_identity(t):
    handled = {t.add: "add", t.Tensor.add: "method", t.nn.functional.relu: "relu", t.Tensor.__rpow__: "rpow",
               t.Tensor.shape.__get__: "shape", t.Tensor.size: "size", t.Tensor.__getitem__: "item"}

    class Handles(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return handled[func]

    x = t.ones(2).as_subclass(Handles)
    assert [t.add(x, 1), x + 1, x.add(1), t.nn.functional.relu(x), 2 ** x, x.shape, x.size(), x[0]] == [
        "add", "method", "method", "relu", "rpow", "shape", "size", "item"]


@BOTH
def test_disabling(t):
    x = t.ones(2).as_subclass(plain(t))
    with t._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is t.Tensor and type(t.relu(x)) is t.Tensor and not t._C._is_torch_function_enabled()
        with logger(t) as mode:
            x.relu()
        assert mode.seen == ["torch.Tensor.relu"]
    with t._C.DisableTorchFunction(), logger(t) as mode:
        assert type(x + 1) is t.Tensor
    assert not mode.seen and type(x + 1) is not t.Tensor

    class Off(t.Tensor):
        __torch_function__ = t._C._disabled_torch_function_impl

    assert type(t.ones(2).as_subclass(Off) + 1) is t.Tensor


@BOTH
def test_parameters_are_plain_tensors_to_functions(t):
    assert type(t.nn.Parameter(t.ones(2)) + 1) is t.Tensor
    sub = t.nn.Parameter(t.ones(2).as_subclass(plain(t)))
    assert isinstance(sub, t.nn.Parameter) and type(sub).__name__ == "Plain" and sub.requires_grad
    module = t.nn.Linear(2, 2)
    module.weight = t.nn.Parameter(t.ones(2, 2).as_subclass(plain(t)))
    assert type(module(t.ones(1, 2))).__name__ == "Plain" and len(list(module.parameters())) == 2


@BOTH
def test_wrap_and_handle(t):
    @overrides(t).wrap_torch_function(lambda x: (x,))
    def triple(x):
        return x * 3

    assert triple(duck(t)) == "quack" and triple(t.ones(1)).item() == 3
    assert overrides(t).has_torch_function((duck(t),)) and not overrides(t).has_torch_function((t.ones(2), 1))
    assert overrides(t).is_tensor_like(duck(t)) and not overrides(t).is_tensor_like(1)


@BOTH
def test_modes_nest_and_leave_nothing_behind(t):
    outer, inner = logger(t), logger(t)
    with outer, inner:
        t.ones(2).relu()
    assert outer.seen == inner.seen == ["torch.ones", "torch.Tensor.relu"]
    t.ones(2).relu().shape
    assert len(outer.seen) == 2


def test_plain_tensors_pay_nothing():
    """Without a mode, tensors have their own methods, and operators remember the types of their arguments."""
    x = mindtorch.ones(2)
    before = mindtorch.Tensor.__dict__["shape"]
    with overrides(mindtorch).BaseTorchFunctionMode():
        assert mindtorch.Tensor.__dict__["shape"] is not before and mindtorch.Tensor.shape is before
        assert x.shape == (2,)
    assert mindtorch.Tensor.__dict__["shape"] is before
    assert not mindtorch._dispatch.dispatcher.mode


PYTHONS = ["__add__", "__rsub__", "__iadd__", "__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__",
           "__ifloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__ipow__", "__and__", "__ror__", "__ixor__",
           "__lshift__", "__rlshift__", "__eq__", "__ne__", "__lt__", "__matmul__", "__rmatmul__"]


@pytest.mark.parametrize("name", PYTHONS)
def test_pythons_operators_are_asked_for_under_pytorchs_names(name):
    """With a number, with a tensor, and beside what no tensor can be combined with, which Python has to sort out."""
    def asked_for(t):
        seen = []

        class Asked(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append((func.__name__, tuple(type(arg).__name__ for arg in args)))
                return super().__torch_function__(func, types, args, kwargs or {})

        for other in (2, t.ones(2, 2, dtype=t.int64)):
            tensor = t.ones(2, 2, dtype=t.int64).as_subclass(Asked)
            seen.append("called")
            getattr(tensor, name)(other)
        beside = getattr(t.ones(2, 2, dtype=t.int64).as_subclass(Asked), name)(None)
        return [entry for entry in seen if "NoneType" not in entry[1]], beside

    assert asked_for(mindtorch) == asked_for(torch)


@BOTH
def test_a_subclass_equals_no_object_of_another_kind(t):
    class Asked(t.Tensor):
        pass

    x = t.ones(2).as_subclass(Asked)
    assert (x == None) is False and (x != None) is True and (x == "x") is False  # noqa: E711
    with pytest.raises(TypeError, match="unsupported operand type"):
        x + None


@pytest.mark.parametrize(("name", "args"), [
    ("__array_wrap__", ([1.0],)), ("__format__", ("",)), ("__setstate__", ((False, None, {}),)), ("__repr__", ()),
    ("__dlpack__", ()), ("module_load", (None,)), ("__rpow__", (2,)), ("__invert__", ()),
    ("backward", ()), ("register_hook", (print,)), ("share_memory_", ()), ("dim", ()), ("__len__", ()), ("tolist", ()),
    ("__deepcopy__", ({},)), ("__reversed__", ()), ("storage_type", ()), ("requires_grad_", ())])
@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_method_fetched_from_the_class_asks_too(lib, name, args) -> None:
    asked = []

    class Asked(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return -1

    tensor = lib.ones(2).as_subclass(Asked)
    asked.clear()
    method = getattr(lib.Tensor, name)
    assert method(tensor, *args) == -1
    assert asked == [method]


def plain_method(t, base):
    class Plain(*base):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 5

    return Plain()


@pytest.mark.parametrize("base", [False, True], ids=["a class", "a subclass of tensors"])
def test_a_plain_method_is_told_to_become_a_classmethod(base):
    told = []
    for t in (mindtorch, torch):
        value = plain_method(t, (t.Tensor,) if base else ())
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            torch.set_warn_always(True)
            results = t.nn.functional.dropout(value), t.abs(value)
        texts = {(w.category, str(w.message).partition(" (Triggered")[0].replace("`", "")) for w in found}
        told.append((results, texts))
    assert told[0] == told[1] and len(told[0][1]) == 2


@BOTH
def test_what_an_operator_of_python_refuses_is_left_to_the_other_operand(t):
    class Nothing(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Reflected(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__ if func.__name__.startswith("__r") else NotImplemented

    assert Nothing() ** Reflected() == "__rpow__" and Nothing() // Reflected() == "__rfloordiv__"
    with pytest.raises(TypeError):
        Nothing() + Reflected()


@BOTH
def test_a_mode_that_declines_is_asked_again_by_the_class_and_by_nothing_else(t):
    class Declining(overrides(t).TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((overrides(t).resolve_name(func), len(types)))
            return NotImplemented if types else func(*args, **(kwargs or {}))

    seen, b = [], t.ones(2).as_subclass(plain(t))
    with Declining():
        assert type(t.neg(b)).__name__ == "Plain"
    assert seen == [("torch.neg", 1), ("torch.neg", 0)]


@BOTH
def test_a_subclass_made_from_a_tensor_is_a_view_of_it(t):
    x = t.ones(2, requires_grad=True)
    made = plain(t)(x)
    assert made._is_view() and made._base is x and made.grad_fn.name() == "AliasBackward0"
    assert type(made).__name__ == "Plain"
    with pytest.raises(TypeError, match="expected TensorOptions"):
        t.FloatTensor(t.ones(1, dtype=t.int64))


@BOTH
def test_only_a_sequence_is_asked(t):
    with pytest.raises(TypeError, match="expected a sequence"):
        overrides(t).has_torch_function(object())


@BOTH
def test_duck_types_are_broadcast(t):
    from_utils = importlib.import_module(f"{t.__name__}.distributions.utils").broadcast_all
    assert from_utils(duck(t), t.ones(2)) in ("quack", tuple("quack"))


def test_a_module_that_is_loaded_inside_a_mode_finds_the_methods_of_tensors():
    script = ("import mindtorch as torch\nfrom mindtorch.overrides import BaseTorchFunctionMode\n"
              "with BaseTorchFunctionMode():\n    print(torch.compile.__name__)")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "compile"), done.stderr


@BOTH
def test_einsum_asks_in_the_form_with_an_equation_and_a_class_in_a_list_with_its_elements(t):
    forms = []

    class Named(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            forms.append(("class", [type(arg).__name__ for arg in args]))
            return super().__torch_function__(func, types, args, kwargs)

    class Mode(overrides(t).TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            forms.append(("mode", [type(arg).__name__ for arg in args]))
            return func(*args, **(kwargs or {}))

    x, named = t.ones(2, 2), t.ones(2, 2).as_subclass(Named)
    with Mode():
        t.einsum("ij,jk", [x, x])
        t.einsum(x, [0, 1], x, [1, 2])
    t.einsum("ij,jk", [named, x])
    assert forms == [("mode", ["str", "list"]), ("mode", ["str", "Tensor", "Tensor"]),
                     ("class", ["str", "Named", "Tensor"])]


@BOTH
def test_a_function_that_is_redispatched_skips_its_handler_and_calls_inside_of_it_do_not(t) -> None:
    called = []

    class Logging(t.Tensor):
        __slots__ = ["log"]

        @staticmethod
        def __new__(cls, data):
            self = t.Tensor._make_subclass(cls, data, data.requires_grad)
            self.log = called
            return self

        @classmethod
        def __torch_function__(cls, func, types, args, kwargs=None):
            args[0].log.append(func.__name__)
            return overrides(t).redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if overrides(t).has_torch_function((a, b)):
            return overrides(t).handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x = Logging(t.tensor([3.0]))
    assert type(scaled(x, x)) is t.Tensor and called == ["scaled", "mul"]
    called.clear()
    t.nn.functional.layer_norm(x, (1,))
    assert called == ["layer_norm", "layer_norm"]


@BOTH
def test_a_handler_may_be_given_to_a_class_that_exists_and_taken_from_it(t) -> None:
    base = plain(t)

    class Below(base):  # type: ignore[valid-type, misc]
        pass

    seen = []

    def note(cls, func, types, args=(), kwargs=None):
        seen.append(overrides(t).resolve_name(func))
        with t._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    old = t.ones(2).as_subclass(Below)
    assert type(old + 1) is Below and not seen
    base.__torch_function__ = classmethod(note)
    kinds = [type(old + 1), type(t.add(old, 1)), type(t.stack([old])), type(old.module_load(old)), type(old[0])]
    assert kinds == [t.Tensor] * 5 and len(seen) == 5, seen
    base.__torch_function__ = t._C._disabled_torch_function_impl
    assert type(old + 1) is t.Tensor and len(seen) == 5
    del base.__torch_function__
    assert type(old + 1) is Below and type(old.neg()) is Below and len(seen) == 5


@BOTH
def test_a_parameter_of_a_subclass_is_printed_as_one(t) -> None:
    assert repr(t.nn.Parameter(t.ones(1).as_subclass(plain(t)))) == "Parameter(Plain([1.], requires_grad=True))"


def test_a_subclass_with_its_own_init_subclass_is_a_tensor() -> None:
    class Base(mindtorch.Tensor):
        def __init_subclass__(cls, **kwargs):
            cls.table = {}

    class Derived(Base):
        pass

    made = mindtorch.ones(2).as_subclass(Derived)
    assert type(made + made) is Derived and mindtorch.detach(made).tolist() == [1, 1] and Derived.table == {}


@pytest.mark.parametrize("lib", ["mindtorch", "torch"])
def test_a_mode_sees_creations_with_their_arguments(lib):
    lib = importlib.import_module(lib)
    seen = []

    class Noting(importlib.import_module(f"{lib.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    def creations():
        return [lib.zeros(2, 3, dtype=lib.int64), lib.full((2,), 5), lib.arange(1, 4, dtype=lib.float64), lib.eye(2, 3),
                lib.tensor([1, 2], dtype=lib.int8)]

    with Noting():
        made = creations()
    assert seen == [("zeros", (2, 3), {"dtype": lib.int64}), ("full", ((2,), 5), {}),
                    ("arange", (1, 4), {"dtype": lib.float64}), ("eye", (2, 3), {}),
                    ("tensor", ([1, 2],), {"dtype": lib.int8})]
    for found in made, creations():
        assert [str(x.dtype).partition(".")[2] for x in found] == ["int64", "int64", "float64", "float32", "int8"]
        assert [tuple(x.shape) for x in found] == [(2, 3), (2,), (3,), (2, 3), (2,)]


@pytest.mark.parametrize("name", ["max", "storage"])  # of an operator, and another
def test_a_method_that_was_replaced_for_a_while_is_itself_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(mindtorch.Tensor, name, lambda self: "replaced")

        class Late(mindtorch.Tensor):
            """A class that is made meanwhile, and asked."""

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return super().__torch_function__(func, types, args, kwargs or {})

        late = mindtorch.ones(1).as_subclass(Late)
        assert getattr(late, name)() == "replaced"
    assert list(getattr(late, name)().reshape(1) if name == "max" else getattr(late, name)()) == [1]
