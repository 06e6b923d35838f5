/* libnnopbase.so: descriptors, each counted while it lives and remembered when it is gone, so that a use is noticed. */
#include "standin.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
int64_t standin_live = 0;

int standin_size(int32_t dtype) {
    switch (dtype) {
        case 9: case 11: case 16: return 8;
        case 17: return 16;
        case 0: case 3: return 4;
        case 1: case 6: case 27: return 2;
        default: return 1;
    }
}
int32_t standin_alive(const void *handle, int magic, const char *what) {
    if (handle && *(const int *)handle == magic) return 0;
    standin_say("%s is %s", what, !handle ? "null" : *(const int *)handle == DESTROYED ? "destroyed" : "no handle of its kind");
    return handle ? 161002 : 161001;
}
aclTensor *aclCreateTensor(const int64_t *dims, uint64_t rank, int32_t dtype, const int64_t *strides, int64_t offset,
                           int32_t format, const int64_t *storage, uint64_t storage_rank, void *data) {
    aclTensor *tensor = calloc(1, sizeof *tensor);
    if (rank > 8) { standin_say("%d dimensions", (int)rank); return NULL; }
    memcpy(tensor->dims, dims, rank * 8);
    memcpy(tensor->strides, strides, rank * 8);
    tensor->magic = TENSOR, tensor->rank = rank, tensor->dtype = dtype, tensor->offset = offset, tensor->data = data, tensor->format = format;
    tensor->room = 1;
    for (uint64_t i = 0; i < storage_rank; i++) tensor->room *= storage[i];
    __sync_fetch_and_add(&standin_live, 1);
    return tensor;
}
static double half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
        : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}
static uint16_t to_half(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value)) return 0x7E00;
    if (!size) return sign;
    if (size >= 65520) return sign | 0x7C00;
    int exponent;
    frexp(size, &exponent);
    if (exponent < -13) return sign | (uint16_t)nearbyint(ldexp(size, 24));
    uint32_t fraction = (uint32_t)nearbyint(ldexp(size, 11 - exponent));  /* 1024 to 2048 */
    return sign | (uint16_t)(((exponent + 14) << 10) + (fraction - 1024));
}
double standin_load(const char *place, int32_t dtype) {
    uint32_t wide;
    float value;
    switch (dtype) {
        case 0: return *(float *)place;
        case 1: return half(*(uint16_t *)place);
        case 3: return *(int32_t *)place;
        case 9: return (double)*(int64_t *)place;
        case 11: return *(double *)place;
        case 27: wide = (uint32_t)*(uint16_t *)place << 16; memcpy(&value, &wide, 4); return value;
        default: return *(uint8_t *)place;
    }
}
void standin_store(char *place, int32_t dtype, double value) {
    uint32_t wide;
    float narrow = (float)value;
    switch (dtype) {
        case 0: *(float *)place = narrow; break;
        case 1: *(uint16_t *)place = to_half(value); break;
        case 3: *(int32_t *)place = (int32_t)value; break;
        case 9: *(int64_t *)place = (int64_t)value; break;
        case 11: *(double *)place = value; break;
        case 27:
            memcpy(&wide, &narrow, 4);
            *(uint16_t *)place = isnan(value) ? 0x7FC0 : (uint16_t)((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
            break;
        default: *(uint8_t *)place = (uint8_t)value;
    }
}
int32_t standin_extent(const aclTensor *tensor, const char *what) {
    int64_t low = tensor->offset, high = tensor->offset, size = standin_size(tensor->dtype);
    for (uint64_t i = 0; i < tensor->rank; i++) {
        if (!tensor->dims[i]) return 0;
        *(tensor->strides[i] < 0 ? &low : &high) += (tensor->dims[i] - 1) * tensor->strides[i];
    }
    if (low < 0 || high >= tensor->room) {
        standin_say("%s reaches from element %d to %d of a storage of %d", what, (int)low, (int)high, (int)tensor->room);
        return 161002;
    }
    if (!standin_inside(tensor->data, (uint64_t)(tensor->room * size), 32)) {
        standin_say("%s is not in a block, or has no tail of 32 bytes behind it", what);
        return 161002;
    }
    return 0;
}
aclScalar *aclCreateScalar(void *value, int32_t dtype) {
    aclScalar *scalar = calloc(1, sizeof *scalar);
    scalar->magic = SCALAR, scalar->value = standin_load(value, dtype);
    __sync_fetch_and_add(&standin_live, 1);
    return scalar;
}
aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t size) {
    aclIntArray *array = calloc(1, sizeof *array);
    memcpy(array->values, values, size * 8);
    array->magic = ARRAY, array->size = size;
    __sync_fetch_and_add(&standin_live, 1);
    return array;
}
/* The memory of a handle stays, so that whoever uses it afterwards, or destroys it twice, is told. */
#define DESTROY(name, kind) int32_t name(void *handle) { \
    int32_t code = standin_alive(handle, kind, #name "'s argument"); \
    if (!code) { *(int *)handle = DESTROYED; __sync_fetch_and_sub(&standin_live, 1); } \
    else __sync_fetch_and_add(&standin_live, 1000); \
    return code; }
DESTROY(aclDestroyTensor, TENSOR)
DESTROY(aclDestroyScalar, SCALAR)
DESTROY(aclDestroyIntArray, ARRAY)
/* A list owns its items, and destroys them. */
typedef struct { int magic; uint64_t size; void *items[32]; } List;
static void *list_of(void *const *items, uint64_t size) {
    List *list = calloc(1, sizeof *list);
    list->magic = LIST, list->size = size;
    memcpy(list->items, items, size * sizeof *items);
    __sync_fetch_and_add(&standin_live, 1);
    return list;
}
void *aclCreateTensorList(void *const *items, uint64_t size) { return list_of(items, size); }
void *aclCreateScalarList(void *const *items, uint64_t size) { return list_of(items, size); }
DESTROY(standin_destroy_list, LIST)
#define DESTROY_LIST(name, destroy_item) int32_t name(void *handle) { \
    List *list = handle; \
    for (uint64_t i = 0; list->magic == LIST && i < list->size; i++) if (list->items[i]) destroy_item(list->items[i]); \
    return standin_destroy_list(handle); }
DESTROY_LIST(aclDestroyTensorList, aclDestroyTensor)
DESTROY_LIST(aclDestroyScalarList, aclDestroyScalar)
void standin_unplanned(const aclOpExecutor *executor) {
    for (int i = 0; i < 4; i++) {
        aclTensor *tensor = executor->used[i];
        if (tensor && tensor->magic == TENSOR) __sync_fetch_and_sub(&tensor->planned, 1);
    }
}
int32_t aclDestroyAclOpExecutor(void *handle) {
    int32_t code = standin_alive(handle, EXECUTOR, "aclDestroyAclOpExecutor's argument");
    if (!code) { standin_unplanned(handle); *(int *)handle = DESTROYED; }
    __sync_fetch_and_add(&standin_live, code ? 1000 : -1);
    return code;
}
/* Before a first phase or after a second one, not between them; the address has to be a multiple of 32. */
int32_t aclSetRawTensorAddr(aclTensor *tensor, void *data) {
    int32_t code = standin_alive(tensor, TENSOR, "aclSetRawTensorAddr's tensor");
    if (!code && (tensor->planned || (uintptr_t)data % 32)) {
        standin_say(tensor->planned ? "the tensor is between two phases" : "the address is no multiple of 32");
        code = 161002;
    }
    if (!code) tensor->data = data;
    return code;
}
int64_t standin_count(void) { return standin_live; }
