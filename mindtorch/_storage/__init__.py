"""Storages: the memory under tensors, and who shares it."""
from .typed import LEGACY_STORAGES, NAMES, TypedStorage
from .untyped import StorageBase, UntypedStorage, allocate, storage_of_array

__all__ = ["LEGACY_STORAGES", "NAMES", "StorageBase", "TypedStorage", "UntypedStorage", "allocate", "storage_of_array"]
