/* What acl_meta.h's opaque handles are in the stand-in libraries. */
#include <stdint.h>
#include <stddef.h>
typedef struct { int64_t dims[8], strides[8], offset; uint64_t rank; int32_t dtype; char *data; } aclTensor;
typedef struct { double value; } aclScalar;
typedef struct { int64_t values[8]; uint64_t size; } aclIntArray;
typedef struct { int kind; aclTensor a, b, c, out; double alpha, beta; aclIntArray dims; } aclOpExecutor;
extern int64_t standin_live;
void standin_say(const char *message);
