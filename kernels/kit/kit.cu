
// NVIDIA GPUs, by CUDA.

namespace kit {

static void begin(const char* instruction, size_t rows, size_t columns) {
    cudaDeviceProp gpu;
    int driver = 0;
    check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    digest = 0xcbf29ce484222325;
    printf("tcnum-kit 1 %s %zux%zu\n", instruction, rows, columns);
    printf("device: %s, sm_%d%d, driver for CUDA %d.%d\n", gpu.name, gpu.major, gpu.minor, driver / 1000, driver % 1000 / 10);
}

}  // namespace kit
