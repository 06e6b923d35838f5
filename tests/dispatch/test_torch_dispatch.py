"""``__torch_dispatch__``: the same modes and subclasses in mindtorch and in PyTorch see the same operators."""
from __future__ import annotations

import copy
import importlib
import pickle

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
BOTH = pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])


def module(t, name):
    return importlib.import_module(f"{t.__name__}.{name}")


def recorder(t, note=lambda func, types, args, kwargs: str(func)):
    """Make a mode that notes every operator, and runs it."""

    class Recorder(module(t, "utils._python_dispatch").TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(note(func, types, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    return Recorder()


def wrapper(t):
    """Make a subclass without elements around a tensor, as in PyTorch's documentation."""
    tree_map = module(t, "utils._pytree").tree_map

    class Logging(t.Tensor):
        __torch_function__ = t._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            made = t.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=requires_grad)
            made.elem = elem
            return made

        def __repr__(self):
            return f"Logging({self.elem})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def unwrap(value):
                return value.elem if isinstance(value, cls) else value

            cls.log.append(str(func))
            out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            return tree_map(lambda value: cls(value) if isinstance(value, t.Tensor) else value, out)

    Logging.log = []
    return Logging


@BOTH
def test_a_mode_sees_operators_their_types_and_arguments(t):
    x = t.ones(2, 3)
    with recorder(t, lambda func, types, args, kwargs: (
            str(func), types, [a if not isinstance(a, t.Tensor) else "x" for a in args], sorted(kwargs))) as mode:
        x.add(x, alpha=2)
        x.sum(1, keepdim=True)
        x.view(3, 2)
        x.clone(memory_format=t.contiguous_format)
        x.add_(1)
    assert mode.seen == [
        ("aten.add.Tensor", (), ["x", "x"], ["alpha"]), ("aten.sum.dim_IntList", (), ["x", [1], True], []),
        ("aten.view.default", (), ["x", [3, 2]], []), ("aten.clone.default", (), ["x"], ["memory_format"]),
        ("aten.add_.Tensor", (), ["x", 1], [])]


@BOTH
def test_modes_nest_and_the_inner_one_is_asked_first(t):
    with recorder(t) as outer, recorder(t) as inner:
        t.ones(2).exp()
    assert inner.seen == outer.seen and inner.seen[-1] == "aten.exp.default"
    current = module(t, "utils._python_dispatch")._get_current_dispatch_mode
    with outer, inner:
        assert current() is inner
    assert current() is None


@BOTH
def test_a_mode_is_left_by_an_exception(t):
    mode = recorder(t)
    with pytest.raises(ZeroDivisionError), mode:
        raise ZeroDivisionError
    t.ones(2).exp()
    assert "aten.exp.default" not in mode.seen


@BOTH
def test_a_mode_may_return_something_else(t):
    class Zero(module(t, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 0 if func is t.ops.aten.mul.Tensor else out

    x = t.ones(2, requires_grad=True)
    with Zero():
        y = x * 3
    assert y.tolist() == [0, 0] and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


@BOTH
def test_inside_a_mode_nothing_is_recorded_for_backward_though_grad_mode_is_on(t):
    noted = []

    class Looks(module(t, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            noted.append((t.is_grad_enabled(), args[0].requires_grad, out.requires_grad))
            return out

    x = t.ones(2, requires_grad=True)
    with Looks():
        y = x.exp()
    assert noted[0] == (True, True, False) and y.grad_fn.name() == "ExpBackward0"


@BOTH
def test_writes_count_once_and_views_stay_views(t):
    x = t.zeros(4)
    with recorder(t):
        view = x[1:]
        view.add_(1)
    assert x._version == 1 and view._is_view() and view._base is x and x.tolist() == [0, 1, 1, 1]


@BOTH
def test_a_wrapper_subclass_goes_through_forward_and_backward(t):
    logging = wrapper(t)
    x = logging(t.tensor([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
    y = (x.mm(x) * 2).relu().sum()
    assert type(y) is logging and y.grad_fn.name() == "SumBackward0" and y.elem.item() == 108.0
    y.backward()
    assert type(x.grad) is logging and x.grad.elem.tolist() == [[14.0, 22.0], [18.0, 26.0]]
    assert logging.log[:4] == ["aten.mm.default", "aten.mul.Tensor", "aten.relu.default", "aten.detach.default"] or (
        logging.log[:4] == ["aten.mm.default", "aten.mul.Tensor", "aten.relu.default", "aten.sum.default"])


@BOTH
def test_a_wrapper_subclass_has_a_shape_and_no_elements(t):
    x = wrapper(t)(t.ones(2, 3).t())
    assert x.shape == (3, 2) and x.stride() == (1, 3) and x.dtype is t.float32 and not x.is_contiguous()
    assert not x.requires_grad and x.is_leaf and x.device == t.device("cpu")
    with pytest.raises(RuntimeError, match="subclass"):
        x.numpy()


@BOTH
def test_a_subclass_that_returns_notimplemented_everywhere_is_an_error(t):
    class Refuses(t.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = t.ones(2).as_subclass(Refuses)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.exp.default'"):
        x.exp()


@BOTH
def test_overloads_and_packets_have_names_and_schemas(t):
    add = t.ops.aten.add.Tensor
    assert str(add) == "aten.add.Tensor" and add.name() == "aten::add.Tensor" and add.__name__ == "add.Tensor"
    assert repr(add) == "<OpOverload(op='aten.add', overload='Tensor')>" and add.namespace == "aten"
    assert add is t.ops.aten.add.Tensor and add.overloadpacket is t.ops.aten.add and str(t.ops.aten.add) == "aten.add"
    assert str(add._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert str(t.ops.aten.t.default._schema) == "aten::t(Tensor(a) self) -> Tensor(a)"
    assert str(t.ops.aten.relu_.default._schema) == "aten::relu_(Tensor(a!) self) -> Tensor(a!)"
    assert [(a.name, a.has_default_value(), a.kwarg_only) for a in add._schema.arguments] == [
        ("self", False, False), ("other", False, False), ("alpha", True, True)]
    assert "Tensor" in t.ops.aten.add.overloads() and t.ops.aten.empty.memory_format.name() == (
        "aten::empty.memory_format")
    assert add(t.ones(2), 2).tolist() == [3, 3] and t.ops.aten.sum(t.ones(2)).item() == 2
    assert copy.deepcopy(add) is add and add in {add: 1}
    assert t.ops.aten.linear.default.decompose(t.ones(1, 2), t.ones(3, 2)).shape == (1, 3)


@BOTH
def test_reentrant_dispatch_records_again(t):
    reentrant = module(t, "overrides").enable_reentrant_dispatch

    class Squares(t.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with reentrant():
                x = t.ones(2, requires_grad=True)
                (x * x).sum().backward()
            return x.grad

    assert t.ones(2).as_subclass(Squares).exp().tolist() == [2, 2]


@BOTH
def test_aliasing_is_corrected_for_views_and_writes(t):
    logging = wrapper(t)
    correct = module(t, "utils._python_dispatch").return_and_correct_aliasing
    x = logging(t.ones(4))
    out = correct(t.ops.aten.view.default, (x, [2, 2]), {}, logging(x.elem.view(2, 2)))
    assert out.shape == (2, 2) and out.untyped_storage()._cdata == x.untyped_storage()._cdata
    assert correct(t.ops.aten.add_.Tensor, (x, 1), {}, logging(x.elem)) is x


@BOTH
def test_dispatch_keys_are_pytorchs(t):
    assert str(t._C._dispatch_keys(t.ones(2))) == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    assert str(t._C._dispatch_keys(t.ones(2, device="meta"))) == "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    with t.inference_mode():
        assert str(t._C._dispatch_keys(t.ones(2))) == "DispatchKeySet(CPU, AutocastCPU)"
    z = t.ones(2, dtype=t.complex64).conj()
    of_complex = "DispatchKeySet(CPU, {}, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    assert str(t._C._dispatch_keys(z)) == of_complex.format("Conjugate")
    assert str(t._C._dispatch_keys(z.imag)) == of_complex.format("Negative")
    keys = t._C._dispatch_keys(wrapper(t)(t.ones(2)))
    assert str(keys) == "DispatchKeySet(CPU, Python, ADInplaceOrView, AutogradCPU, AutocastCPU, PythonTLSSnapshot)"
    assert keys.has(t._C.DispatchKey.Python) and not keys.has(t._C.DispatchKey.Meta)


@BOTH
def test_a_class_with_torch_dispatch_alone_is_not_asked_for_functions(t):
    seen = []

    class Counts(t.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = t.ones(2).as_subclass(Counts)
    assert type(x + 1) is t.Tensor and seen == ["aten.add.Tensor"]
    x.data = t.zeros(2)
    assert seen == ["aten.add.Tensor"]
    assert x.data.tolist() == [0, 0] and seen == ["aten.add.Tensor", "aten.detach.default"]


@BOTH
def test_detach_of_a_wrapper_counts_the_same_writes_and_data_counts_its_own(t):
    x = wrapper(t)(t.ones(2))
    x.detach().add_(2)
    assert x._version == 1
    x.data.add_(2)
    assert x._version == 1 and x.elem.tolist() == [5, 5]


@BOTH
def test_attributes_in_slots_are_part_of_a_subclass(t):
    class Slots(t.Tensor):
        __slots__ = ("elem",)

        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            made = t.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, requires_grad=requires_grad)
            made.elem = elem
            return made

        __torch_dispatch__ = classmethod(wrapper(t).__torch_dispatch__.__func__)

    Slots.log = []
    x = Slots(t.ones(2), requires_grad=True)
    x.exp().sum().backward()  # which keeps the exponential
    assert x.grad.elem.tolist() == pytest.approx([2.718281828, 2.718281828])


@BOTH
def test_a_wrapper_has_no_address_and_is_copied_by_clone(t):
    x = wrapper(t)(t.ones(2))
    assert x.data_ptr() == 0
    with pytest.raises(RuntimeError, match="data pointer on an invalid python storage"):
        x.untyped_storage().data_ptr()
    copied = copy.deepcopy(x)
    assert type(copied) is type(x) and copied.elem.tolist() == [1, 1] and copied.elem is not x.elem

    class Plain(type(x)):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return args[0].elem.clone()

    with pytest.raises(RuntimeError, match="cloning returns another instance of the same subclass"):
        copy.deepcopy(Plain(t.ones(2)))


@BOTH
def test_the_method_of_a_mode_is_no_classmethod(t):
    class Mode(module(t, "utils._python_dispatch").TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"), Mode():
        t.ones(2).exp()


@BOTH
def test_modes_of_a_library_can_be_told_from_the_programs(t):
    modes = module(t, "utils._python_dispatch")

    class Infra(modes.BaseTorchDispatchMode):
        @classmethod
        def is_infra_mode(cls):
            return True

    with Infra():
        assert modes.is_in_torch_dispatch_mode() and not modes.is_in_torch_dispatch_mode(include_infra_modes=False)
        with modes.BaseTorchDispatchMode():
            assert modes.is_in_torch_dispatch_mode(include_infra_modes=False)


@BOTH
def test_gradients_of_normalisation_are_written_to_out(t):
    x, out = t.ones(2, 3, device="meta"), [t.empty(0, device="meta") for _ in range(3)]
    mean = t.ones(2, 1, device="meta")
    t.ops.aten.native_layer_norm_backward(x, x, [3], mean, mean, x[0], None, [True, True, False],
                                          out0=out[0], out1=out[1], out2=out[2])
    assert [tuple(o.shape) for o in out] == [(2, 3), (3,), (0,)]


@BOTH
def test_logs_know_where_they_were_written_and_dtypes_by_short_names(t):
    tools = module(t, "_C._profiler")
    frames, = tools.symbolize_tracebacks([tools.gather_traceback(python=True, script=False, cpp=False)])
    here = [frame for frame in frames if frame["filename"] == __file__]
    assert here[0]["name"] == "test_logs_know_where_they_were_written_and_dtypes_by_short_names"
    short = module(t, "utils._dtype_abbrs").dtype_abbrs
    assert [short[dtype] for dtype in (t.float32, t.bool, t.bfloat16, t.complex128, t.uint8, t.float8_e5m2)] == [
        "f32", "b8", "bf16", "c128", "u8", "f8e5m2"]


def test_overloads_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(mindtorch.ops.aten.add.Tensor)) is mindtorch.ops.aten.add.Tensor


def test_names_of_overloads_are_atens():
    """All but the operators that only Python has."""
    unknown = []
    for op in mindtorch.registry.operators.values():
        if "::" in op.name:  # another test's
            continue
        overload = mindtorch._dispatch.overloads.overload_of(op)
        packet = getattr(torch.ops.aten, overload._opname, None)
        if packet is None or not hasattr(packet, overload._overloadname):
            unknown.append(str(overload))
    assert len(unknown) < 20, unknown


FACTORIES = """
    t.ones(8); t.ones(8, dtype=t.float64); t.ones(8, device='meta'); t.zeros(2, 3); t.empty(2); t.full((2,), 3)
    t.empty(2, 3, 4, 5, memory_format=t.channels_last); t.full((2,), 3, dtype=t.int8); t.arange(4); t.arange(4.0)
    t.arange(1, 4); t.arange(1, 4, 2); t.arange(start=0, end=4); t.eye(3); t.eye(3, 2); t.linspace(0, 1, 5)
    t.logspace(0, 1, 5); t.rand(2); t.rand(2, generator=g); t.randn(2); t.randint(5, (2,)); t.randint(1, 5, (2,))
    t.randint(1, 5, (2,), generator=g); t.randperm(4); t.randperm(4, generator=g); t.normal(0.0, 1.0, (2,))
    t.normal(0.0, 1.0, (2,), generator=g); t.empty_strided((2,), (1,)); t.empty_permuted((2, 3), (1, 0))
    t.zeros_like(u); t.zeros_like(u, dtype=t.float64); t.ones_like(u, device='meta'); t.full_like(u, 2)
    t.empty_like(u); t.rand_like(u); t.randn_like(u); t.randint_like(u, 5); t.randint_like(u, 1, 5); u.new_zeros(2)
    u.new_zeros((2,), dtype=t.int8); u.new_ones(2); u.new_empty(2); u.new_full((2,), 1.0); t.scalar_tensor(3)
    u.new_empty_strided((2,), (1,)); u.new_tensor([1.0]); t.tensor([1.0]); t.tensor(3); t.tensor([1.0], device='meta')
    t.zeros(2, requires_grad=True); t.tril_indices(3, 3); t.triu_indices(3, 3, 1, dtype=t.int32)
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("factory", [text.strip() for text in FACTORIES if text.strip()])
def test_a_factory_is_shown_with_pytorchs_arguments(factory):
    def shown(t):
        def plain(value):
            return "tensor" if isinstance(value, t.Tensor) else "generator" if isinstance(value, t.Generator) else value

        names = {"t": t, "u": t.ones(2, 3), "g": t.Generator()}
        mode = recorder(t, lambda func, types, args, kwargs: (
            str(func), repr([plain(a) for a in args]), repr(sorted((k, repr(plain(v))) for k, v in kwargs.items()))))
        with mode:
            eval(factory, names)
        return mode.seen

    assert shown(mindtorch) == shown(torch)


@BOTH
def test_a_leaf_takes_the_gradient_with_which_a_pass_starts_from_a_view_but_copies_it_at_a_root(t):
    seen = []
    for program in (lambda x: x, lambda x: x.view(1).view(())):
        root = program(t.tensor(2.0, requires_grad=True))
        with recorder(t) as mode:
            root.backward()
        seen.append([name.split(".")[1] for name in mode.seen])
    assert seen == [["ones_like", "new_empty_strided", "copy_"], ["ones_like", "view", "view", "detach"]]


@BOTH
def test_a_mode_sees_a_formula_multiply_by_a_number_as_cpp_does(t):
    y = t.ones(2, requires_grad=True).rsqrt()
    with recorder(t) as mode:
        y.sum().backward()
    assert mode.seen[-4:-1] == ["aten.pow.Tensor_Scalar", "aten.mul.Scalar", "aten.mul.Tensor"]
