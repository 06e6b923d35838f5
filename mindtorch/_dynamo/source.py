"""``torch._dynamo.source``: the places that values of a compiled program are read from."""
from __future__ import annotations

from .._guards import (
    AttrSource as AttrSource, ConstantSource as ConstantSource, EphemeralSource as EphemeralSource,
    GetItemSource as GetItemSource, GlobalSource as GlobalSource, LocalSource as LocalSource, Source as Source,
    TensorProperty as TensorProperty, TensorPropertySource as TensorPropertySource,
)
