"""``torch.library``: operators in namespaces of one's own, in mindtorch and in PyTorch."""
from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
import typing

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
BOTH = pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])
FRESH = itertools.count()


def library(t):
    return importlib.import_module(f"{t.__name__}.library")


@pytest.fixture
def namespace():
    return f"ours{next(FRESH)}"


def scaled(t, namespace):
    """Define an operator with a meta kernel and a derivative."""

    def function(x, factor=2.0):
        return x * factor

    function.__annotations__ = {"x": t.Tensor, "factor": float, "return": t.Tensor}
    op = library(t).custom_op(f"{namespace}::scaled", function, mutates_args=())
    op.register_fake(lambda x, factor=2.0: t.empty_like(x))

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1]

    op.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup)
    return op


@BOTH
def test_a_library_defines_operators_and_gives_them_kernels(t, namespace):
    with library(t)._scoped_library(namespace, "DEF") as lib:
        assert lib.define("twice(Tensor x, float y=1.0) -> Tensor") == "twice"
        lib.impl("twice", lambda x, y=1.0: x * 2 * y, "CPU")
        op = getattr(t.ops, namespace).twice
        assert op(t.ones(2)).tolist() == [2, 2] and op.default(t.ones(2), 3.0).tolist() == [6, 6]
        assert str(op.default) == f"{namespace}.twice.default" and op.default.name() == f"{namespace}::twice"
        assert str(op.default._schema) == f"{namespace}::twice(Tensor x, float y=1.) -> Tensor" or t is mindtorch
        with pytest.raises(NotImplementedError):
            op(t.ones(2, device="meta"))


@BOTH
@pytest.mark.filterwarnings("ignore:.*[Oo]verrid")
def test_a_kernel_of_atens_is_replaced_until_the_library_is_gone(t):
    with library(t)._scoped_library("aten", "IMPL") as lib:
        lib.impl("neg", lambda x: x + 100, "CPU")
        assert (-t.ones(2)).tolist() == [101, 101]
    assert (-t.ones(2)).tolist() == [-1, -1]


@BOTH
def test_a_packet_called_before_calls_what_another_library_defines_under_its_name(t, namespace):
    packets = []
    for schema, kernel in (("twice(Tensor x) -> Tensor", lambda x: 2 * x),
                           ("twice(Tensor x, int n=3) -> Tensor", lambda x, n=3: n * x)):
        with t.library._scoped_library(namespace, "DEF") as lib:
            lib.define(schema)
            lib.impl("twice", kernel, "CPU")
            packet = getattr(t.ops, namespace).twice
            packets.append([f(t.ones(2)).tolist() for f in (packet, packet, packet.default, packet.default)])
            if "n=3" in schema:
                packets.append([f(t.ones(2), n=5).tolist() for f in (packet, packet.default) for _ in range(2)])
        assert not hasattr(getattr(t.ops, namespace), "twice")
    assert packets == [[[2.0, 2.0]] * 4, [[3.0, 3.0]] * 4, [[5.0, 5.0]] * 4]


@BOTH
def test_an_overload_called_before_asks_handlers_later(t, namespace):
    class Seen(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    class Own(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(cls.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    names: list[str] = []
    x, calls = t.ones(2), (t.ops.aten.add, t.ops.aten.add.Tensor)
    for call in calls * 2:
        call(x, x)
    with Seen():
        for call in calls:
            call(x, x)
    for call in calls * 2:
        call(x, x)
        call(x.as_subclass(Own), x)
    assert names == ["aten.add", "aten.add.Tensor", *["Own"] * 4]


@BOTH
def test_arguments_of_other_types_choose_the_overload_anew(t, namespace):
    x, out = t.arange(3.0), t.zeros(3)
    for _ in range(2):
        assert t.ops.aten.add(x, 1).tolist() == [1, 2, 3] and t.ops.aten.add(x, x, alpha=2).tolist() == [0, 3, 6]
        assert t.ops.aten.add.out(x, x, out=out) is out and out.tolist() == [0, 2, 4]
        assert t.ops.aten.max(x).item() == 2 and t.ops.aten.max(x, 0)[1].item() == 2
        assert t.ops.aten.sum.dim_IntList(x.view(1, 3), [0], keepdim=True).shape == (1, 3)
        assert t.ops.aten.view(x, [3, 1]).shape == (3, 1) and t.ops.aten.zeros([2], device="cpu").tolist() == [0, 0]
        with pytest.raises(RuntimeError):
            t.ops.aten.add.Tensor(x, "x")


@BOTH
def test_an_operator_has_the_tags_that_it_was_defined_with(t, namespace):
    own = library(t).Library(namespace, "DEF")
    own.define("f(Tensor x) -> Tensor", tags=t.Tag.core)
    own.define("g(Tensor x) -> Tensor", tags=[t.Tag.pointwise, t.Tag.core])
    own.define("h(Tensor x) -> Tensor")
    library(t).custom_op(f"{namespace}::k", lambda x: x.clone(), mutates_args=(), tags=t.Tag.core,
                         schema="(Tensor x) -> Tensor")
    ops = getattr(t.ops, namespace)
    found = [{tag.name for tag in getattr(ops, name).default.tags} for name in "fghk"]
    assert found == [{"core"}, {"pointwise", "core"}, set(), {"pt2_compliant_tag", "core"}]
    assert t.Tag.pointwise in t.ops.aten.add.Tensor.tags and t.Tag.pointwise not in t.ops.aten.mm.default.tags


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@BOTH
def test_errors_of_libraries(t, namespace):
    with pytest.raises(ValueError, match="Unsupported kind"):
        library(t).Library(namespace, "BLA")
    with pytest.raises(ValueError, match="reserved namespace"):
        library(t).Library("prim", "DEF")
    with library(t)._scoped_library(namespace, "DEF") as lib, pytest.raises(TypeError, match="callable"):
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", "no function", "CPU")


@BOTH
def test_a_custom_operator_has_a_schema_a_meta_kernel_and_a_derivative(t, namespace):
    op = scaled(t, namespace)
    x = t.ones(3, requires_grad=True)
    y = op(x, 4.0)
    y.sum().backward()
    assert y.tolist() == [4, 4, 4] and x.grad.tolist() == [4, 4, 4] and "scaled" in y.grad_fn.name()
    assert op(t.ones(2, device="meta")).shape == (2,)
    assert str(op._opoverload._schema) == f"{namespace}::scaled(Tensor x, float factor=2.) -> Tensor".replace(
        "2.)", "2.0)" if t is mindtorch else "2.)")


@BOTH
def test_a_custom_operator_has_a_kernel_of_its_own_for_a_device(t, namespace):
    op = scaled(t, namespace)
    op.register_kernel("cpu")(lambda x, factor=2.0: x - factor)
    assert op(t.ones(2), 3.0).tolist() == [-2.0, -2.0]
    op.register_kernel("cuda", lambda x, factor=2.0: x)  # a device that this machine does not have
    with pytest.raises(RuntimeError, match="at start of device string: cpuu"):
        op.register_kernel("cpuu")(lambda x, factor=2.0: x)


@BOTH
def test_opcheck_accepts_a_right_operator_and_refuses_a_wrong_one(t, namespace):
    x = t.ones(3, requires_grad=True)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    assert set(library(t).opcheck(scaled(t, namespace), (x, 2.0), test_utils=tests).values()) == {"SUCCESS"}

    def writes(x):
        x.add_(1)
        return x.clone()

    writes.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    wrong = library(t).custom_op(f"{namespace}::writes", writes, mutates_args=())
    results = library(t).opcheck(wrong, (t.ones(2),), test_utils="test_schema", raise_exception=False)
    assert isinstance(results["test_schema"], Exception)
    with pytest.raises(Exception, match=r"opcheck\(op, ...\): test_schema failed with .*") as refused:
        library(t).opcheck(wrong, (t.ones(2),), test_utils="test_schema")
    assert type(refused.value).__name__ == "OpCheckError" and isinstance(refused.value.__cause__, Exception)
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        library(t).opcheck(wrong, (t.ones(2),), test_utils="test_nothing")


@BOTH
def test_an_operator_of_ones_own_has_its_inputs_cast_by_autocast(t, namespace):
    seen = []

    def twice(x, others, n):
        seen.append((x.dtype, [other.dtype for other in others], t.is_autocast_enabled("cpu")))
        return x * n

    twice.__annotations__ = {"x": t.Tensor, "others": typing.List[t.Tensor], "n": int, "return": t.Tensor}  # noqa: UP006
    op = library(t).custom_op(f"{namespace}::twice", twice, mutates_args=())
    library(t).register_autocast(op, "cpu", t.float16)
    given = t.ones(2), [t.ones(2, dtype=t.float64), t.ones(2, dtype=t.int64)], 3
    with t.autocast("cpu", dtype=t.bfloat16):
        assert op(*given).dtype == t.float16 and getattr(t.ops, namespace).twice(*given).dtype == t.float16
    assert op(*given).dtype == t.float32
    lower = (t.float16, [t.float64, t.int64], False)
    assert seen == [lower, lower, (t.float32, [t.float64, t.int64], False)]
    for wrong, words in ((3, "Expected `device_type` of type `str`"), ("meta", "Device type 'meta' does not support")):
        with pytest.raises(ValueError, match=words):
            op.register_autocast(wrong, t.float16)


@BOTH
@pytest.mark.parametrize("name", ["mul_.Tensor", "copy_.default"])
def test_opcheck_knows_that_a_form_in_place_writes_its_tensor_and_has_the_derivative_of_the_other(t, namespace, name):
    packet, _, overload = name.partition(".")
    x = t.ones(3, requires_grad=True) * 2
    results = library(t).opcheck(getattr(getattr(t.ops.aten, packet), overload), (x, t.ones(3)), test_utils=(
        "test_schema", "test_autograd_registration", "test_faketensor"))
    assert set(results.values()) == {"SUCCESS"}


@BOTH
def test_opcheck_takes_what_an_out_form_writes(t, namespace):
    opcheck, aten, x = library(t).opcheck, t.ops.aten, t.ones(2)
    tests = {"test_utils": ("test_schema", "test_autograd_registration", "test_faketensor")}
    for name, out in (("mul", {"out": t.zeros(2)}), ("add", {"out": t.zeros(2)})):
        assert set(opcheck(getattr(aten, name).out, (x, x), out, **tests).values()) == {"SUCCESS"}
        assert out["out"].tolist() == [0, 0]  # it is a copy that is written
    with pytest.raises(Exception, match="arguments don't support automatic differentiation"):
        opcheck(aten.mul.out, (t.ones(2, requires_grad=True), x), {"out": t.zeros(2)}, **tests)
    with pytest.raises(Exception, match=r"aten::mul\(\) is missing value for argument 'out'"):
        opcheck(aten.mul.out, (x, x), **tests)
    with pytest.raises(RuntimeError, match="opcheck can only test operators without overloads"):
        opcheck(aten.mul, (x, x), **tests)


@BOTH
def test_schemas_are_inferred_from_annotations(t):
    def function(x, y, sizes, flag=True, name=None):
        raise NotImplementedError

    function.__annotations__ = {"x": t.Tensor, "y": t.Tensor | None, "sizes": list[int], "flag": bool,
                                "name": str | None, "return": tuple[t.Tensor, t.Tensor]}
    infer = library(t).infer_schema
    assert infer(function, mutates_args=()) == (
        "(Tensor x, Tensor? y, SymInt[] sizes, bool flag=True, str? name=None) -> (Tensor, Tensor)")
    assert infer(function, mutates_args={"x"}).startswith("(Tensor(a0!) x" if t is torch else "(Tensor(a!) x")
    with pytest.raises(ValueError, match="type annotation"):
        infer(lambda x: x, mutates_args=())


@BOTH
def test_modes_see_custom_operators(t, namespace):
    op, seen = scaled(t, namespace), []

    class Recorder(importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Recorder():
        op(t.ones(2))
    assert seen[-1 if t is mindtorch else seen.index(f"{namespace}.scaled.default")] == f"{namespace}.scaled.default"


@BOTH
def test_a_custom_operator_runs_on_a_batch_by_its_rule(t, namespace):
    called = []

    def product(x, y):
        return t.tensor(x.numpy() * y.numpy())

    def on_batch(info, in_dims, x, y):
        called.append((info.batch_size, info.randomness, in_dims))
        x, y = (v.unsqueeze(-1) if dim is None else v.movedim(dim, -1) for v, dim in zip((x, y), in_dims, strict=True))
        return (x * y).movedim(-1, 0), 0

    product.__annotations__ = {"x": t.Tensor, "y": t.Tensor, "return": t.Tensor}
    op = library(t).custom_op(f"{namespace}::product", product, mutates_args=())
    library(t).register_vmap(op, on_batch)
    x, y = t.arange(6.0).view(2, 3), t.arange(3.0)
    assert t.vmap(op, in_dims=(0, None))(x, y).tolist() == (x * y).tolist()
    assert t.vmap(op, in_dims=(1, 0))(x, y).tolist() == (x * y).T.tolist()
    assert [entry[:2] for entry in called] == [(2, "error"), (3, "error")] and called[0][2] == (0, None)


@BOTH
def test_a_rule_for_batches_returns_a_dimension_for_each_result(t, namespace):
    def cube(x):
        return x**3, 3 * x**2

    cube.__annotations__ = {"x": t.Tensor, "return": tuple[t.Tensor, t.Tensor]}
    op = library(t).custom_op(f"{namespace}::cube", cube, mutates_args=())
    op.register_vmap(lambda info, in_dims, x: (op(x), (in_dims[0], in_dims[0])))
    x = t.arange(4.0)
    assert [part.tolist() for part in t.vmap(op)(x)] == [(x**3).tolist(), (3 * x**2).tolist()]


def defined(t, namespace, function, returned=None, **options):
    """Define a custom operator from a function of one tensor."""
    function.__annotations__ = {"x": t.Tensor, "return": returned or t.Tensor}
    return library(t).custom_op(f"{namespace}::made", function, mutates_args=(), **options)


@BOTH
def test_a_custom_operator_that_is_made_again_replaces_the_former_and_lasts_though_nobody_keeps_it(t, namespace):
    former = defined(t, namespace, lambda x: x + 1)
    assert former(t.zeros(1)).item() == getattr(t.ops, namespace).made(t.zeros(1)).item() == 1
    again = defined(t, namespace, lambda x: x + 2)
    del again
    assert getattr(t.ops, namespace).made(t.zeros(1)).item() == 2


def test_the_former_definition_of_a_custom_operator_calls_the_latter(namespace):
    """PyTorch's former definition holds the handle of an operator that is gone: a call of it is undefined there."""
    former = defined(mindtorch, namespace, lambda x: x + 1)
    again = defined(mindtorch, namespace, lambda x: x + 2)
    assert former(mindtorch.zeros(1)).item() == again(mindtorch.zeros(1)).item() == 2


@BOTH
@pytest.mark.parametrize("device_types", [None, "cpu"])
def test_a_custom_operator_without_a_fake_says_so_of_meta_tensors(t, namespace, device_types):
    op = defined(t, namespace, lambda x: x + 1, device_types=device_types)
    with pytest.raises(RuntimeError, match=f"There was no fake impl registered for <CustomOpDef\\({namespace}::made"):
        op(t.ones(1, device="meta"))
    op.register_fake(lambda x: x.new_empty(2))
    assert op(t.ones(1, device="meta")).shape == (2,)


@BOTH
@pytest.mark.parametrize("result", [lambda x: [x], lambda x: [x.view(-1)], lambda x: [x.clone()] * 2,
                                    lambda x: [x.clone(), x]])
def test_results_of_a_custom_operator_must_not_share_memory_with_its_arguments(t, namespace, result):
    op = defined(t, namespace, lambda x: result(x), list[t.Tensor])
    with pytest.raises(RuntimeError, match=r"The output of this custom operator \(1\) must not also be an input"):
        op(t.ones(1))


@BOTH
@pytest.mark.parametrize(("schema", "said"), [("f", "only the operator name was given"),
                                              ("f(Foo x) -> Tensor", "unknown type specifier")])
def test_a_schema_that_cannot_be_parsed_defines_nothing(t, namespace, schema, said):
    with library(t)._scoped_library(namespace, "DEF") as lib:
        with pytest.raises(RuntimeError, match=said):
            lib.define(schema)
        lib.define("f(Tensor x) -> Tensor")


@BOTH
def test_an_inferred_schema_names_dtypes_shortly_and_refuses_to_write_what_is_no_parameter(t):
    def function(x, dtype=t.float32):
        raise NotImplementedError

    function.__annotations__ = {"x": t.Tensor, "dtype": t.dtype, "return": t.Tensor}
    infer = library(t).infer_schema
    assert infer(function, mutates_args=()) == "(Tensor x, ScalarType dtype=float32) -> Tensor"
    with pytest.raises(ValueError, match="mutates_args were not found in the custom op's signature"):
        infer(function, mutates_args={"y"})
    with pytest.raises(ValueError, match="Parameter dtype is in mutable_args but only Tensors or collections of"):
        infer(function, mutates_args={"dtype"})
    for strange in (lambda *x: x, lambda **x: x, lambda x, /: x):
        strange.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
        with pytest.raises(ValueError, match="We do not support positional-only args, varargs, or varkwargs"):
            infer(strange, mutates_args=())


@BOTH
def test_a_custom_operator_returns_what_its_schema_says_and_has_no_derivative_unless_it_is_registered(t, namespace):
    op = library(t).custom_op(f"{namespace}::f", lambda x, n: x * n if n else n, mutates_args=(),
                              schema="(Tensor x, int n) -> Tensor")
    with pytest.raises(RuntimeError, match="Unable to cast 0 to Tensor"):
        op(t.ones(2), 0)
    with pytest.raises(RuntimeError, match=f"Trying to backward through {namespace}.f.default but no autograd formula"):
        op(t.ones(2, requires_grad=True), 2).sum().backward()


def test_a_derivative_that_is_given_before_the_operators_family_is_loaded_stays():
    program = ("import mindtorch as torch\n"
               "torch.library.derivative('relu', self=lambda grad, result: grad * 7)\n"
               "torch.nn.functional.gelu(torch.ones(1))\n"
               "x = torch.ones(2, requires_grad=True)\n"
               "x.relu().sum().backward()\n"
               "print(x.grad.tolist())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[7.0, 7.0]", done.stderr


@BOTH
def test_an_operator_without_a_kernel_is_named_with_its_namespace(t, namespace):
    with library(t)._scoped_library(namespace, "DEF") as lib:
        lib.define("bare(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match=f"Could not run '{namespace}::bare' with arguments"):
            getattr(t.ops, namespace).bare(t.ones(1))


def test_operators_of_triton_kernels_are_refused_with_what_to_do() -> None:
    for refused in (lambda: mindtorch.library.triton_op("mine::twice", mutates_args={}),
                    lambda: mindtorch.library.wrap_triton(None)):
        with pytest.raises(NotImplementedError, match=r"no Triton here.*custom_op"):
            refused()


@BOTH
def test_a_list_of_tensors_may_lack_some(t, namespace):
    with library(t)._scoped_library(namespace, "DEF") as lib:
        lib.define("count(Tensor?[] xs) -> Tensor")
        lib.impl("count", lambda xs: t.tensor([x is None for x in xs]), "CPU")
        op = getattr(t.ops, namespace).count
        for call in (op, op.default):
            assert call([None, t.ones(2)]).tolist() == [True, False]


@BOTH
@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
def test_a_kernel_of_autocast_may_fall_through_while_its_library_lives(t):
    def dtypes():
        with t.autocast("cpu", dtype=t.bfloat16):
            return [function(t.ones(2, 2), t.ones(2, 2)).dtype for function in (t.mm, t.matmul)]

    with library(t)._scoped_library("aten", "IMPL") as lib:
        lib.impl("mm", library(t).fallthrough_kernel, "AutocastCPU")
        assert dtypes() == [t.float32, t.bfloat16]
    assert dtypes() == [t.bfloat16, t.bfloat16]


def test_an_operator_is_made_again_as_by_a_cell_that_runs_twice() -> None:
    for factor in (1, 2):
        op = mindtorch.library.custom_op("again::scaled", lambda x, factor=factor: x * factor, mutates_args=(),
                                         schema="(Tensor x) -> Tensor")
        op.register_fake(lambda x: x.new_empty(x.shape))
        assert op(mindtorch.ones(2)).tolist() == [factor, factor]
        assert op(mindtorch.ones(2, device="meta")).shape == (2,)
