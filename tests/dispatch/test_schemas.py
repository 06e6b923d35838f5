"""The tables of schemas: names and defaults are ATen's, headings say what there is, and a sentence what is computed."""
from __future__ import annotations

import re
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import library, registry
from mindtorch._dispatch.registry import Operator, OpRegistry, flags_of
from mindtorch._dispatch.schema import REQUIRED

T = pytest.importorskip("torch", reason="PyTorch says what the schemas are")
ATEN = {s.name.removeprefix("aten::") + ("." + s.overload_name if s.overload_name else ""): s
        for s in T._C._jit_get_all_schemas() if s.name.startswith("aten::")}
WRITTEN = [op for op in registry.operators.values() if op.functional is None]
FIRST = [ops[0] for ops in registry.packets.values() if ops[0].functional is None]
#: Options of factories, and parameters whose defaults Python functions supply.
OPTIONS = {"dtype", "layout", "device", "pin_memory", "memory_format", "generator"}
ELSEWHERE = {"contiguous": "memory_format", "cdist": "compute_mode"}


# -- schemas -----------------------------------------------------------------------------------------------------------


def names_of(op: Operator) -> list[str]:
    return [p.name for p in op.schema.parameters if p.name not in OPTIONS]


def test_parameters_are_atens() -> None:
    ours = {op.name: names_of(op) for op in WRITTEN if op.name in ATEN}
    theirs = {name: [a.name for a in ATEN[name].arguments if a.name not in OPTIONS] for name in ours}
    theirs["einsum"].remove("path")  # which only orders the products
    assert len(ours) > 700 and ours == theirs


def test_defaults_are_atens() -> None:
    for op in WRITTEN:
        theirs = {a.name: a.default_value for a in ATEN[op.name].arguments} if op.name in ATEN else {}
        for p in op.schema.parameters:
            if p.default is not REQUIRED and p.name in theirs and p.name not in {*OPTIONS, ELSEWHERE.get(op.name)}:
                expected = theirs[p.name]
                assert p.default == (tuple(expected) if isinstance(expected, list) else expected), (op, p.name)


def test_what_aten_lacks_is_what_pytorch_writes_in_python_or_takes_for_a_wrapped_number() -> None:
    python = {"norm.python", "gradient", "unique", "unique_consecutive.python", "nonzero.python"}
    numbers = {f"{name}.Scalar_Tensor" for name in ("add", "sub", "mul", "div", "true_divide", "floor_divide")}
    own = {op.name for op in WRITTEN if op.name not in ATEN and "::" not in op.name}  # ATen's namespace alone
    assert own == python | numbers


# -- headings ----------------------------------------------------------------------------------------------------------


def test_a_heading_holds_for_the_rows_below_it() -> None:
    table = OpRegistry()
    table.make_entry = lambda op: op
    table.define_table("""
function, method, in-place, out:
    twice(Tensor self) -> Tensor  # Each element of `self` times two.

operator only:
    half(Tensor self) -> Tensor
    half.by(Tensor self, Tensor by) -> Tensor
""", "pointwise")
    assert list(table.operators) == ["twice", "twice_", "twice.out", "half", "half.by"]
    assert table["twice"].flags == table["twice_"].flags == {"function", "method", "in-place", "out"}
    assert table["half"].flags == {"operator only"}
    assert table["twice"].sentence == "Each element of `self` times two." and table["half"].sentence == ""
    assert [op.name for op in table.packets["half"]] == ["half", "half.by"]


def test_a_word_without_a_meaning_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"unknown flags \['inplace'\], expected some of .*'in-place'"):
        flags_of("function, inplace")
    with pytest.raises(ValueError, match="unknown flags"):
        library.define("nameless(Tensor self) -> Tensor", "fm")


def test_functions_and_methods_are_where_the_headings_say() -> None:
    for op in FIRST:
        flags = frozenset().union(*(overload.flags for overload in registry.packets[op.packet]))
        assert "method" not in flags or callable(getattr(torch.Tensor, op.packet)), op
        assert "function" not in flags or callable(getattr(torch, op.packet)), op
        assert "operator only" not in op.flags or not op.forms, op


# -- sentences ---------------------------------------------------------------------------------------------------------


def is_public(op: Operator) -> bool:
    named = not op.packet.rpartition("::")[2].startswith("_") and not op.packet.endswith("_backward")
    return named or bool(op.flags & {"function", "method"})


def test_a_public_operator_has_one_sentence_that_names_its_parameters() -> None:
    public = [op for op in FIRST if is_public(op) and "::" not in op.packet]  # not those of other namespaces
    assert len(public) > 570
    for op in public:
        said = op.sentence
        assert re.fullmatch(r"[A-Z`].*[^ ]\.", said) and "\n" not in said and said.count("`") % 2 == 0, (op, said)
        assert said.split()[0] not in {"Returns", "Computes", "Return", "Compute", "This", "Applies"}, (op, said)
        parameters = {p.name for overload in registry.packets[op.packet] for p in overload.schema.parameters}
        named: set[Any] = set(re.findall(r"`(.*?)`", said))
        assert named & parameters and named <= parameters | set(registry.packets), (op, named - parameters)


def test_operators_that_say_the_same_are_the_same() -> None:
    said: dict[str, set[str]] = {}
    for op in FIRST:
        if op.sentence:
            said.setdefault(op.sentence.partition("; another name for")[0], set()).add(op.packet)
    shared = [names for names in said.values()
              if len(names) > 1 and not any("another name for" in registry[name].sentence for name in names)]
    assert sorted(map(sorted, shared)) == [
        ["adjoint", "mH"], ["cholesky", "linalg_cholesky"], ["i0", "special_modified_bessel_i0"],
        ["linalg_matrix_exp", "matrix_exp"], ["linalg_matrix_power", "matrix_power"],
        ["special_i1", "special_modified_bessel_i1"],
    ]


def test_overloads_share_the_sentence_and_forms_say_where_the_result_goes() -> None:
    said = registry["add.Tensor"].sentence
    assert said == "The sum of `self` and `other`, which is first multiplied by `alpha`."
    assert registry["add.Scalar_Tensor"].sentence == said
    assert registry["add_.Tensor"].sentence == f"{said} The result is written into `self`."
    assert registry["add.Tensor_out"].sentence == f"{said} The result is written into `out`."
