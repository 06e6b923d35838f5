"""Every operator of the committed list agrees with PyTorch in everything that `compare` looks at.

In float32 and int64 all of them are compared, in the other dtypes a sample: whole, they are
`python -m tests.parity.run --agreeing --dtype float64 float16 bfloat16 complex64 bool`.
"""

import pytest

import mindtorch
from tests.parity import agreeing
from tests.parity.compare import Entry, database
from tests.parity.exclusions import DIFFERENT
from tests.support import torch

LEAST = {"float32": 200, "int64": 150}


@pytest.mark.parametrize(("name", "dtype"), agreeing.sampled())
def test_operator_agrees(name: str, dtype: str) -> None:
    result = Entry(database()[name], mindtorch).compare(getattr(torch, dtype))
    told = [f"{check} {sample}: {difference}" for check, sample, difference in result.found]
    assert result.status == "agrees", "\n".join([f"{len(told)} differences {result.reason}", *told[:10]])
    assert result.samples, "the database has no samples for it"


@pytest.mark.parametrize("dtype", LEAST)
def test_list_is_long_enough(dtype: str) -> None:
    assert len(agreeing.names(dtype)) >= LEAST[dtype]


def test_few_entries_differ() -> None:
    assert len(DIFFERENT) <= 8
    assert not [name for name in DIFFERENT if "float32" in agreeing.read().get(name, ())]
