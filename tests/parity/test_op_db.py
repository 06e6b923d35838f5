"""Every operator of the committed list agrees with PyTorch in everything that `compare` looks at.

In float32 and int64 all of them are compared at some of their samples, in the other dtypes a few: whole, they are
`python -m tests.parity.run --agreeing --dtype float32 int64 float64 float16 bfloat16 complex64 bool`; `--table` counts
the list.
"""

import pytest

import mindtorch
from tests.parity import agreeing
from tests.parity.compare import Entry, database
from tests.parity.exclusions import DIFFERENT
from tests.parity.run import in_scope
from tests.support import torch

MOST = 6  #: samples of an entry; some have hundreds, which take half of the time
#: How many of the entries in scope agree.
SHARE = {"int64": 0.98, "float64": 0.95, "float16": 0.95, "bfloat16": 0.95, "complex64": 0.95, "bool": 0.95}


@pytest.mark.parametrize(("name", "dtype"), agreeing.sampled())
def test_operator_agrees(name: str, dtype: str) -> None:
    result = Entry(database()[name], mindtorch, most=MOST).compare(getattr(torch, dtype))
    told = [f"{check} {sample}: {difference}" for check, sample, difference in result.found]
    assert result.status == "agrees", "\n".join([f"{len(told)} differences {result.reason}", *told[:10]])
    assert result.samples, "the database has no samples for it"


@pytest.mark.parametrize(("dtype", "share"), SHARE.items())
def test_list_has_most_entries(dtype: str, share: float) -> None:
    assert len(agreeing.names(dtype)) >= share * len(in_scope(dtype))


def test_list_has_every_entry_of_float32_but_a_few() -> None:
    assert len(DIFFERENT) <= 8
    assert sorted({*in_scope("float32")} - {*agreeing.names("float32")}) == sorted(DIFFERENT)
