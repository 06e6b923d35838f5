"""``torch.utils._dtype_abbrs``: short names of dtypes, for logs."""
from .._dtype import DTYPES, RARE

dtype_abbrs = {dtype: dtype.abbr for dtype in (*DTYPES.values(), *RARE.values())}
