"""Changes of the library that the lessons' asserts notice: for each lesson a few, as Python that runs first."""

MUTATIONS = {
    "01_strides": {
        "expand copies": """
import mindtorch
own = mindtorch.Tensor.expand
mindtorch.Tensor.expand = lambda self, *sizes: own(self, *sizes).clone()
""",
        "t copies": """
import mindtorch
own = mindtorch.Tensor.t
mindtorch.Tensor.t = lambda self: own(self).contiguous()
""",
        "the offset is forgotten": """
import mindtorch
mindtorch.Tensor.storage_offset = lambda self: 0
""",
    },
    "02_views": {
        "reshape always copies": """
import mindtorch
own = mindtorch.Tensor.reshape
mindtorch.Tensor.reshape = lambda self, *shape: own(self, *shape).clone()
""",
        "reshape copies what is not contiguous": """
import mindtorch
own = mindtorch.Tensor.reshape
mindtorch.Tensor.reshape = lambda self, *shape: own(self.contiguous(), *shape)
""",
    },
}
