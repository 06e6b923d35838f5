"""Backends, arranged by device; importing one registers its kernels."""
