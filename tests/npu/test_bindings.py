"""The binding table, the handle functions, the calls of pyACL and the constants agree with CANN's interface, and the
check notices whatever is altered.
"""
from __future__ import annotations

import copy
import ctypes
import re
from pathlib import Path

import pytest

import mindtorch
from mindtorch._backends.npu import constants
from mindtorch._backends.npu.bindings import C_TYPES, KINDS, PHASE_TWO, Binding, Parameter, binding, names, read
from mindtorch._backends.npu.descriptors import CONVERTERS, HANDLE_FUNCTIONS
from mindtorch._dtype import dtypes

from . import interface
from .interface import ABI, TENSORS, call_differences, calls, constant_differences, differences, function_differences

NPU = Path(mindtorch.__file__).parent / "_backends" / "npu"
SOURCES = {path.name: path.read_text() for path in sorted(NPU.glob("*.py"))}
#: Rows to try the comparison on: of tensors and numbers, null pointers, lists, references, many kinds.
SOME = ("aclnnAdd", "aclnnLayerNormBackward", "aclnnIndexPutImpl", "aclnnForeachAddListV2", "aclnnConvolution")
CONSTANTS = {name: value for name, value in vars(constants).items() if re.match("ACL(NN)?_", name)}


def changed(row: Binding, at: int, **fields: object) -> Binding:
    """The row with one parameter altered."""
    parameters = list(row.parameters)
    parameters[at] = parameters[at]._replace(**fields)  # type: ignore[arg-type]
    return Binding(row.name, row.takes, tuple(parameters))


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_a_row_is_the_operators_signature(name: str) -> None:
    assert differences(binding(name)) == []


def test_the_table_has_the_operators_that_a_tensor_library_needs() -> None:
    assert len(names()) == len(set(names())) >= 300


def test_a_row_that_the_extract_lacks_is_noticed() -> None:
    """The extract comes from the vendor's interface: a new row needs a new extract."""
    row = read("aclnnAddFancy  float32  tensor self, out out")
    assert differences(row) == ["aclnnAddFancy is not in the interface"]


@pytest.mark.parametrize("name", SOME)
def test_swapped_arguments_are_noticed(name: str) -> None:
    parameters = binding(name).parameters
    for i in range(len(parameters) - 1):
        swapped = (*parameters[:i], parameters[i + 1], parameters[i], *parameters[i + 2:])
        assert differences(Binding(name, "float32", swapped)), i


@pytest.mark.parametrize("name", SOME)
def test_a_missing_or_an_additional_argument_is_noticed(name: str) -> None:
    parameters = binding(name).parameters
    more = Parameter("bool", "more", False, "")
    for i in range(len(parameters)):
        assert differences(Binding(name, "float32", parameters[:i] + parameters[i + 1:])), i
        assert differences(Binding(name, "float32", (*parameters[:i], more, *parameters[i:]))), i


@pytest.mark.parametrize("name", SOME)
def test_a_wrong_type_or_name_is_noticed(name: str) -> None:
    row = binding(name)
    for i, parameter in enumerate(row.parameters):
        assert differences(changed(row, i, name=parameter.name + "x"))
        for kind, c_type in KINDS.items():
            if c_type != KINDS[parameter.kind]:
                assert differences(changed(row, i, kind=kind)), (parameter, kind)


@pytest.mark.parametrize("name", SOME)
def test_a_write_declared_as_a_read_and_a_read_as_a_write_are_noticed(name: str) -> None:
    row = binding(name)
    for i in {*row.reads, *row.writes}:
        kind, lists = row.parameters[i].kind, "s" * row.parameters[i].kind.endswith("s")
        for other in ("tensor", "out", "ref"):
            if other + lists in KINDS and other + lists != kind and not (
                name in interface.OVERWRITING and {kind, other} == {"out", "ref"}
            ):
                assert differences(changed(row, i, kind=other + lists)), (kind, other)


def test_an_interface_that_differs_is_noticed() -> None:
    """Names, types, order, return types and the second phase are all looked at, and nothing is compared with itself."""
    for function, alter in [
        ("aclnnAddGetWorkspaceSize", lambda f: f.update(returns="int32_t")),
        ("aclnnAddGetWorkspaceSize", lambda f: f["args"].pop()),
        ("aclnnAddGetWorkspaceSize", lambda f: f["args"].reverse()),
        ("aclnnAddGetWorkspaceSize", lambda f: f["args"][-2].__setitem__(0, "uint32_t*")),
        ("aclnnAdd", lambda f: f.update(returns="void")),
        ("aclnnAdd", lambda f: f["args"].pop(0)),
        ("aclnnAdd", lambda f: f["args"][1].__setitem__(0, "int64_t")),
    ]:
        abi = copy.deepcopy(ABI)
        alter(abi["functions"][function])
        assert differences(binding("aclnnAdd"), abi)
    del abi["functions"]["aclnnAdd"]
    assert differences(binding("aclnnAdd"), abi)


def test_only_pointers_may_be_null_and_only_tensors_have_dtypes_of_their_own() -> None:
    for name in names():
        row = binding(name)
        for parameter in row.parameters:
            c_type = KINDS[parameter.kind]
            assert not parameter.optional or (c_type.startswith("acl") and c_type.endswith("*")), (name, parameter)
            assert parameter.takes == row.takes or c_type in TENSORS, (name, parameter)
            assert dtypes(parameter.takes), (name, parameter)


# -- how a row reads ---------------------------------------------------------------------------------------------------


def test_a_row_reads_as_written() -> None:
    row = read("aclnnX  reduced|float32  ref? a, tensors:bool|int64 b, ints? c, int64 d, out out")
    floats = "reduced|float32"
    assert row.name == "aclnnX" and row.takes == floats
    assert row.parameters == (
        ("ref", "a", True, floats), ("tensors", "b", False, "bool|int64"), ("ints", "c", True, floats),
        ("int64", "d", False, floats), ("out", "out", False, floats),
    )
    assert row.phase_one == ["aclTensor*", "aclTensorList*", "aclIntArray*", "int64_t", "aclTensor*", "uint64_t*",
                             "aclOpExecutor**"]
    assert row.reads == (0, 1) and row.writes == (0, 4)


def test_rows_are_read_once_and_may_go_on_in_further_lines() -> None:
    assert binding("aclnnAdd") is binding("aclnnAdd")
    assert binding("aclnnConvolutionBackward").parameters[-1].name == "gradBias"


def test_an_unknown_operator_is_a_clear_error() -> None:
    with pytest.raises(KeyError, match="no binding for 'aclnnNone'"):
        binding("aclnnNone")


def test_words_stand_for_the_dtypes_that_cann_has() -> None:
    assert {dtype.name for dtype in dtypes("all")} == set(constants.DATA_TYPES)


# -- C types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_passed_as_its_c_type_and_has_a_conversion(kind: str) -> None:
    c_type = KINDS[kind]
    size = {"bool": 1, "int8_t": 1, "int": 4, "int32_t": 4, "float": 4, "aclDataType": 4}.get(c_type, 8)
    given = C_TYPES.get(c_type, ctypes.c_void_p if c_type.endswith("*") else None)
    assert given is not None and ctypes.sizeof(given) == size
    assert kind in CONVERTERS


# -- functions that are no operators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HANDLE_FUNCTIONS)
def test_a_handle_function_is_as_declared(name: str) -> None:
    assert function_differences(name, *HANDLE_FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", ["aclCreateTensor", "aclDestroyScalar", "aclGetViewShape"])
def test_an_altered_handle_function_is_noticed(name: str) -> None:
    returns, takes = HANDLE_FUNCTIONS[name]
    assert function_differences(name + "s", returns, takes)
    assert function_differences(name, "void", takes)
    assert function_differences(name, returns, [*takes, "bool"])
    for i, c_type in enumerate(takes):
        before, after = takes[:i], takes[i + 1:]
        assert function_differences(name, returns, before + after)
        assert function_differences(name, returns, [*before, "float", *after])
        if after and after[0] != c_type:
            assert function_differences(name, returns, [*before, after[0], c_type, *after[1:]])


def test_what_the_library_uses_of_handles_is_made_and_destroyed() -> None:
    for kind in ("Tensor", "Scalar", "IntArray", "BoolArray", "FloatArray", "TensorList", "ScalarList"):
        assert f"aclCreate{kind}" in HANDLE_FUNCTIONS and f"aclDestroy{kind}" in HANDLE_FUNCTIONS
    assert PHASE_TWO == interface.PHASE_TWO


# -- pyACL -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", SOURCES)
def test_calls_of_pyacl_have_its_shapes(file: str) -> None:
    assert [found for call in calls(SOURCES[file]) for found in call_differences(call)] == []


def test_the_calls_are_found() -> None:
    used = {call.name for source in SOURCES.values() for call in calls(source)}
    assert used >= {"acl.init", "acl.finalize", "acl.rt.set_device", "acl.rt.create_context", "acl.rt.create_stream",
                    "acl.rt.synchronize_stream", "acl.rt.malloc", "acl.rt.free", "acl.rt.memcpy", "acl.rt.memcpy_async",
                    "acl.rt.record_event", "acl.rt.get_mem_info"}


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("code = acl.rt.free(p)", "code = acl.rt.free()"),
        ("code = acl.rt.free(p)", "code = acl.rt.free(p, 0)"),
        ("code = acl.rt.free(p)", "p, code = acl.rt.free(p)"),
        ("code = acl.rt.free(p)", "code = acl.rt.release(p)"),
        ("p, code = acl.rt.malloc(n, 0)", "p = acl.rt.malloc(n, 0)"),
        ("p, code = runtime.acl.rt.malloc(n, 0)", "p, code = runtime.acl.rt.malloc(n)"),
        ("free, total, code = rt.get_mem_info(1)", "free, total = rt.get_mem_info(1)"),
        ("s, code = acl.rt.create_stream() if a else acl.rt.create_stream_with_config(0, 0)",
         "s, code = acl.rt.create_stream() if a else acl.rt.create_stream_with_config(0)"),
        ("rt.query_event(e)[0]", "rt.query_event(e)[2]"),
        ("check(acl.rt.set_device(0), 'aclrtSetDevice')", "check(acl.rt.get_device(), 'aclrtGetDevice')"),
        ("code = acl.init()", "code = acl.init(path, more)"),
        ("name = acl.get_soc_name()", "name, code = acl.get_soc_name()"),
    ],
)
def test_an_altered_call_is_noticed(right: str, wrong: str) -> None:
    check = lambda source: [found for call in calls(source) for found in call_differences(call)]  # noqa: E731
    assert calls(right) and check(right) == []
    assert check(wrong)


# -- constants ---------------------------------------------------------------------------------------------------------


def test_constants_are_those_of_the_headers() -> None:
    assert len(CONSTANTS) > 100
    assert constant_differences(CONSTANTS) == []


@pytest.mark.parametrize("name", ["ACL_FLOAT", "ACL_FORMAT_NCHW", "ACL_MEMCPY_DEVICE_TO_HOST",
                                  "ACLNN_ERR_PARAM_INVALID", "ACL_ERROR_RT_AICORE_EXCEPTION"])
def test_an_altered_constant_is_noticed(name: str) -> None:
    assert constant_differences({name: CONSTANTS[name] + 1})
    assert constant_differences({name + "_X": CONSTANTS[name]})


def test_codes_have_one_name_each() -> None:
    codes = [value for name, value in CONSTANTS.items() if name.startswith(("ACL_ERROR_", "ACLNN_ERR_"))]
    assert len(codes) == len(set(codes)) >= 60
    assert constants.ERROR_NAMES[507015] == "ACL_ERROR_RT_AICORE_EXCEPTION"
    assert constants.ERROR_NAMES[161002] == "ACLNN_ERR_PARAM_INVALID"
    assert constants.ERROR_NAMES[0] == "ACL_SUCCESS"


def test_dtypes_have_the_headers_numbers() -> None:
    """The headers have other names for the dtypes than PyTorch."""
    theirs = {"float16": "FLOAT16", "bfloat16": "BF16", "float32": "FLOAT", "float64": "DOUBLE"}
    for name, code in constants.DATA_TYPES.items():
        assert ABI["enums"]["aclDataType"][f"ACL_{theirs.get(name, name.upper())}"] == code
        assert constants.DTYPE_NAMES[code] == name
    assert set(constants.DATA_TYPES) == {name for name, dtype in mindtorch._dtype.DTYPES.items()}
