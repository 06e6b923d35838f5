"""The compiler behind ``torch.compile``, in the order in which a call goes through it.

================  ==========================================================================  ===================
file              idea                                                                        in PyTorch
================  ==========================================================================  ===================
``state``         what Python state a call can read                                           TorchDynamo's guards
``watch``         which functions run while a call is recorded                                TorchDynamo
``recording``     operators are recorded in pipeline mode; what ends that is a graph break    TorchDynamo
``guards``        a Python function that says whether a program still fits                    TorchDynamo's guards
``joint``         the graph of the derivative, and what is saved for it                       AOTAutograd
``passes``        functionalisation, common subexpressions, constants, dead code              AOTAutograd, Inductor
``fusion``        which steps become one kernel                                               Inductor's scheduler
``program``       the Python that runs, and where its arrays lie                              Inductor's code
``function``      compiled functions: programs by guards, and their node in autograd's graph  Dynamo, AOTAutograd
================  ==========================================================================  ===================
"""
