"""``torch._custom_ops``: an old name of parts of ``torch.library``."""
from .library import Library as Library, custom_op as custom_op, infer_schema as infer_schema, register_fake

impl_abstract = register_fake
