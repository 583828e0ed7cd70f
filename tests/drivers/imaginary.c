/* A CUDA driver with an imaginary GPU of compute capability 9.0, or, with -DNO_DEVICE, without any. Whatever would need
 * a real GPU answers CUDA_ERROR_NOT_SUPPORTED (801). */
#include <stddef.h>
#include <string.h>

#ifdef NO_DEVICE
int cuInit(unsigned flags) { return 100; }
#else
int cuInit(unsigned flags) { return 0; }
#endif

int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuGetErrorName(int error, const char **name) { *name = "CUDA_ERROR_IMAGINARY"; return 0; }
int cuGetErrorString(int error, const char **text) { *text = "no CUDA-capable device is detected"; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "Imaginary GPU", size); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    /* 75: major, 76: minor capability; 16: multiprocessors. */
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : 1;
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 30; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &cuInit; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxGetCurrent(void **context) { *context = &cuInit; return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
/* NVRTC asks for it, where there is a driver, and does not check that it exists. */
int cuGetExportTable(const void **table, const void *id) { *table = NULL; return 500; }
int cuModuleLoadData(void) { return 801; }
int cuModuleGetFunction(void) { return 801; }
int cuFuncGetAttribute(void) { return 801; }
int cuMemAllocAsync(void) { return 801; }
int cuMemFreeAsync(void) { return 801; }
int cuMemcpyHtoDAsync_v2(void) { return 801; }
int cuMemcpyDtoHAsync_v2(void) { return 801; }
int cuMemsetD8Async(void) { return 801; }
int cuEventCreate(void) { return 801; }
int cuEventRecord(void) { return 801; }
int cuStreamWaitEvent(void) { return 801; }
int cuStreamSynchronize(void) { return 801; }
int cuLaunchKernel(void) { return 801; }
