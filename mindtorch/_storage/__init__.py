"""Storages: the memory under tensors, and who shares it."""
from .typed import LEGACY_STORAGES, NAMES, TypedStorage
from .untyped import StorageBase, UntypedStorage, allocate, out_of_host_memory, storage_of_array

__all__ = ["LEGACY_STORAGES", "NAMES", "StorageBase", "TypedStorage", "UntypedStorage", "allocate",
           "out_of_host_memory", "storage_of_array"]
