/* libnnopbase.so: descriptors, each counted while it lives. */
#include "nnopbase.h"
#include <stdlib.h>
#include <string.h>
int64_t standin_live = 0;

aclTensor *aclCreateTensor(const int64_t *dims, uint64_t rank, int32_t dtype, const int64_t *strides, int64_t offset,
                           int32_t format, const int64_t *storage, uint64_t storage_rank, void *data) {
    aclTensor *tensor = calloc(1, sizeof *tensor);
    memcpy(tensor->dims, dims, rank * 8);
    memcpy(tensor->strides, strides, rank * 8);
    tensor->rank = rank, tensor->dtype = dtype, tensor->offset = offset, tensor->data = data;
    standin_live++;
    return tensor;
}
aclScalar *aclCreateScalar(void *value, int32_t dtype) {
    aclScalar *scalar = calloc(1, sizeof *scalar);
    scalar->value = dtype == 11 ? *(double *)value : dtype == 9 ? (double)*(int64_t *)value : *(uint8_t *)value;
    standin_live++;
    return scalar;
}
aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t size) {
    aclIntArray *array = calloc(1, sizeof *array);
    memcpy(array->values, values, size * 8);
    array->size = size;
    standin_live++;
    return array;
}
#define DESTROY(name) int32_t name(void *handle) { free(handle); standin_live--; return 0; }
DESTROY(aclDestroyTensor)
DESTROY(aclDestroyScalar)
DESTROY(aclDestroyIntArray)
DESTROY(aclDestroyAclOpExecutor)
int64_t standin_count(void) { return standin_live; }
