"""The compiler behind ``torch.compile``, in the order in which it handles a call.

================  ==========================================================================  ===================
file              idea                                                                        in PyTorch
================  ==========================================================================  ===================
``state``         the Python state that a call can read                                       TorchDynamo's guards
``watch``         the functions that run while a call is recorded                             TorchDynamo
``recording``     operators, recorded in pipeline mode until a graph break                    TorchDynamo
``guards``        a Python function that checks whether a program still fits                  TorchDynamo's guards
``joint``         the graph of the derivative, and the tensors saved for it                   AOTAutograd
``passes``        functionalisation, common subexpressions, constants, dead code              AOTAutograd, Inductor
``fusion``        the steps that become one kernel                                            Inductor's scheduler
``program``       the Python that runs, and the memory of its arrays                          Inductor's code
``outputs``       the result of a call, and the views in it                                   AOTAutograd
``function``      compiled functions: programs by guards, and their node in autograd's graph  Dynamo, AOTAutograd
================  ==========================================================================  ===================
"""
