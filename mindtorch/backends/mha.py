"""``torch.backends.mha``: the setting of a fast path of attention modules in evaluation; there is none."""
_fastpath = True


def get_fastpath_enabled() -> bool:
    """Return True if the fast path may be taken (``torch.backends.mha.get_fastpath_enabled``)."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Set whether the fast path may be taken (``torch.backends.mha.set_fastpath_enabled``)."""
    global _fastpath
    _fastpath = value
