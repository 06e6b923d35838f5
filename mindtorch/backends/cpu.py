"""``torch.backends.cpu``."""
from functools import cache
from pathlib import Path


@cache
def get_cpu_capability() -> str:
    """Return the widest vectors of this processor, by PyTorch's names (``torch.backends.cpu.get_cpu_capability``)."""
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8").split()
    except OSError:
        return "DEFAULT"
    return next((name for flag, name in (("avx512f", "AVX512"), ("avx2", "AVX2")) if flag in flags), "DEFAULT")
