"""Storages: the memory under tensors, and who shares it."""
from .memory import allocate, can_be, keep_pages, out_of_host_memory
from .typed import LEGACY_STORAGES, NAMES, TypedStorage
from .untyped import StorageBase, UntypedStorage, storage_of_array

__all__ = ["LEGACY_STORAGES", "NAMES", "StorageBase", "TypedStorage", "UntypedStorage", "allocate", "can_be",
           "out_of_host_memory", "storage_of_array"]

keep_pages()
