"""Every public callable has a signature, whose names are PyTorch's, and a docstring that names what it mirrors."""
from __future__ import annotations

import inspect
import re
import typing
from importlib import import_module

import pytest

import mindtorch
from mindtorch import registry

PUBLIC = [
    "mindtorch", "mindtorch.autograd", "mindtorch.autograd.functional", "mindtorch.autograd.graph", "mindtorch.fft",
    "mindtorch.functional", "mindtorch.library", "mindtorch.linalg", "mindtorch.masked", "mindtorch.nn",
    "mindtorch.nn.functional", "mindtorch.nn.init", "mindtorch.nn.utils", "mindtorch.npu", "mindtorch.optim",
    "mindtorch.optim.lr_scheduler", "mindtorch.optim.swa_utils",
    "mindtorch.random", "mindtorch.special",
]  # fmt: skip


def callables():
    """Every public function and class of the namespaces, and every public method of tensors, by its name."""
    for module in map(import_module, PUBLIC):
        for name in module.__all__:
            if callable(value := getattr(module, name)):
                yield f"{module.__name__}.{name}", value
    for name in dir(mindtorch.Tensor):
        if name[0] != "_" and callable(value := getattr(mindtorch.Tensor, name)):
            yield f"mindtorch.Tensor.{name}", value


CALLABLES = dict(callables())


def is_generic(function) -> bool:
    """Whether a signature says nothing: ``(*args, **kwargs)``."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a class in C++
        return True
    rest = [p for p in parameters if p.name != "self"]
    return bool(rest) and all(
        p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name in ("args", "kwargs") for p in rest)


def is_exception(value) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def of_pytorch(name):
    """Return PyTorch's object under a name of ours, or None."""
    found = pytest.importorskip("torch")
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def test_a_public_callable_has_a_signature() -> None:
    """Also classes, except those that take anything in PyTorch, too, such as ``nn.Identity``."""
    generic = {name for name, value in CALLABLES.items() if not is_exception(value) and is_generic(value)}
    assert not {name for name in generic if not isinstance(CALLABLES[name], type) or not is_generic(of_pytorch(name))}


def test_a_docstring_names_what_it_mirrors() -> None:
    """It has PyTorch's name, with the namespace, where PyTorch has such a thing."""
    docs = {name: inspect.getdoc(value) or "" for name, value in CALLABLES.items()}
    assert not [name for name, doc in docs.items() if not doc]
    assert not [name for name, doc in docs.items()
                if of_pytorch(name) is not None and not re.search(r"\btorch(?:\.\w+)+", doc)]


def test_parameters_are_those_of_pytorchs_schemas() -> None:
    """A parameter of ours belongs to an overload of PyTorch's, or to its Python function; ``self`` is ``input`` in a
    function, and ``out`` is there where PyTorch has an ``out`` form.
    """
    torch = pytest.importorskip("torch")
    wrong = []
    for name, function in CALLABLES.items():
        packet = getattr(torch.ops.aten, getattr(function, "packet", ""), None)
        if packet is None or any(op.overload == "python" for op in registry.packets[function.packet]):
            continue  # a Python function of PyTorch's
        arguments = [a for overload in packet.overloads() for a in getattr(packet, overload)._schema.arguments]
        is_method = name.startswith("mindtorch.Tensor.")
        theirs = {"input" if a.name == "self" and not is_method else a.name for a in arguments}
        ours = {p.rstrip("_") if p == "from_" else p for p in inspect.signature(function).parameters
                if p != "requires_grad"}  # a factory has it in Python alone
        if not ours - {"out"} <= theirs or ("out" in ours and not any(a.is_out for a in arguments)):
            wrong.append(name)
    assert not wrong


def test_annotations_are_types():
    for name, function in CALLABLES.items():
        if hasattr(function, "packet"):
            assert "return" in typing.get_type_hints(function), name
    assert typing.get_type_hints(mindtorch.add)["return"] is mindtorch.Tensor
    assert mindtorch.Tensor in typing.get_args(typing.get_type_hints(mindtorch.max)["return"])


def test_signatures_are_shown_as_in_pytorchs_documentation():
    x = mindtorch.ones(2)
    shown = {text: re.sub(r" -> .*|: mindtorch._tensor.Tensor( (?==))?|(?<==) ", "", str(inspect.signature(function)))
             for text, function in {
        "(input, other, *, alpha=1, out=None)": mindtorch.add,
        "(dim=None, keepdim=False, *, dtype=None)": x.sum,
        "(*dims)": x.permute,
        "(condition, other)": x.where,
        "(input, dim=..., keepdim=False, *, other=..., out=None)": mindtorch.max,
        "(n, m=..., *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None)":
            mindtorch.eye,
    }.items()}
    assert all(text == found for text, found in shown.items()), shown


def test_a_signature_is_made_when_it_is_asked_for():
    op = mindtorch.library.define("signed(Tensor self, int times=2) -> Tensor", "method")
    try:
        assert "schema" in vars(op)  # which define looks into itself
        assert str(inspect.signature(mindtorch.Tensor.signed).replace(return_annotation=inspect.Signature.empty)) == (
            "(self, times=2)")
    finally:
        del registry.operators["signed"], registry.packets["signed"], mindtorch.Tensor.signed


@pytest.mark.parametrize("name", [*PUBLIC, *(f"mindtorch.{name}" for name in (
    "introspect", "viz", "widgets", "storage", "monitor", "mps", "nn.modules", "distributed", "quantization"))])
def test_a_namespace_lists_only_its_own_names(name):
    module = import_module(name)
    listed = dir(module)
    assert listed and all(hasattr(module, shown) for shown in listed)
    assert not {"Any", "annotations", "Callable", "TYPE_CHECKING", "math", "warnings", "make_function",
                "__builtins__"} & set(listed)


GIVEN_ONE_BY_ONE = {
    f"{'Tensor.' if method else ''}{op.packet}"
    for op in registry.operators.values() for method in (True, False) if op.packet[0] != "_"
    for parameter in [p for p in op.schema.parameters if p.name != "self"][:1]
    if parameter.is_list and parameter.base == "int" and (op.schema.parameters[0].name == "self" or not method)
}


def test_ints_stand_for_a_list_of_them_where_they_do_in_pytorch() -> None:
    pytorch = pytest.importorskip("torch")

    def accepts(module, name, ints):
        x = () if name in ("zeros", "ones", "empty", "rand", "randn", "full") else (module.ones(2, 2),)
        function = module
        for part in name.split("."):
            function = getattr(function, part)
        try:
            function(*x, *ints)
        except TypeError:
            return False
        except (RuntimeError, IndexError, ValueError):
            pass  # of their values
        return True

    for name in sorted(GIVEN_ONE_BY_ONE):
        owners = [module.Tensor if name.startswith("Tensor.") else module for module in (pytorch, mindtorch)]
        if all(hasattr(owner, name.removeprefix("Tensor.")) for owner in owners):
            for ints in (1,), (0, 1), (1, 1, 1):
                assert accepts(mindtorch, name, ints) == accepts(pytorch, name, ints), (name, ints)
