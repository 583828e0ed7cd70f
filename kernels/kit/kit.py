# A kit of tcnum, which tells arithmetics of matrix instructions apart. Run it on a machine with an NVIDIA GPU, and send back what it prints:
#
#     python3 kit.py > answers.txt
#
# It needs the GPU's driver and NVRTC, which PyTorch, CuPy and JAX bring along (nvidia-cuda-nvrtc), and no module of Python's packages.
# Whoever has tcnum reads the answers with `tcnum identify --answers answers.txt`.
#
# The kernels are CUDA C++. PyTorch runs no single matrix instruction itself, so that there is no such kit for other GPUs and for TPUs.
import ctypes
import glob
import os
import sys


NVRTC = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]


class Failure(Exception):
    pass


def library(names, folders):
    """The first of these shared libraries that can be loaded."""
    for name in names:
        in_folders = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, name)))]
        for path in in_folders + [name]:
            try:
                return ctypes.CDLL(path)
            except OSError:
                continue
    raise Failure(f"{names[0]} is not here")


def nvrtc_folders():
    """Where packages and CUDA put NVRTC."""
    packages = [os.path.join(place, "nvidia", "*", "lib") for place in sys.path if place]
    packages += [os.path.join(place, "nvidia", "*", "bin") for place in sys.path if place]
    cuda = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr/local/cuda"]
    return packages + [os.path.join(place, "lib64") for place in cuda]


class Gpu:
    """The first GPU, by the driver."""

    def __init__(self):
        self.driver = library(["libcuda.so.1", "libcuda.so", "nvcuda.dll"], [])
        self.check(self.driver.cuInit(0), "cuInit")
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
        self.check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device), "cuDevicePrimaryCtxRetain")
        self.check(self.driver.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")
        name = ctypes.create_string_buffer(256)
        self.check(self.driver.cuDeviceGetName(name, 256, device), "cuDeviceGetName")
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
        self.capability = "".join(str(self.attribute(device, key)) for key in (75, 76))
        version = ctypes.c_int()
        self.check(self.driver.cuDriverGetVersion(ctypes.byref(version)), "cuDriverGetVersion")
        major, minor = version.value // 1000, version.value % 1000 // 10
        self.text = f"{name.value.decode()}, sm_{self.capability}, driver for CUDA {major}.{minor}"
        self.nvrtc = library(NVRTC, nvrtc_folders())

    def attribute(self, device, key):
        value = ctypes.c_int()
        self.check(self.driver.cuDeviceGetAttribute(ctypes.byref(value), key, device), "cuDeviceGetAttribute")
        return value.value

    def check(self, error, what):
        if error != 0:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(error, ctypes.byref(text))
            raise Failure(f"{what} failed: {(text.value or b'error').decode()} ({error})")

    def function(self, source, target):
        """The kernel `execute`, compiled for this GPU."""
        program = ctypes.c_void_p()
        self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kit.cu", 0, None, None)
        options = (ctypes.c_char_p * 2)(f"-arch={target}".encode(), b"-std=c++17")
        error, size = self.nvrtc.nvrtcCompileProgram(program, 2, options), ctypes.c_size_t()
        if error != 0:
            self.nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(max(size.value, 1))
            self.nvrtc.nvrtcGetProgramLog(program, log)
            raise Failure(f"NVRTC does not compile it for {target}: {log.value.decode()[:400]}")
        self.nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        self.nvrtc.nvrtcGetCUBIN(program, code)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.driver.cuModuleLoadData(ctypes.byref(module), code), "cuModuleLoadData")
        self.check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, b"execute"), "cuModuleGetFunction")
        return function

    def memory(self, content):
        address = ctypes.c_uint64()
        self.check(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(len(content))), "cuMemAlloc")
        self.check(self.driver.cuMemcpyHtoD_v2(address, content, ctypes.c_size_t(len(content))), "cuMemcpyHtoD")
        return address

    def content(self, address, length):
        content = ctypes.create_string_buffer(length)
        self.check(self.driver.cuMemcpyDtoH_v2(content, address, ctypes.c_size_t(length)), "cuMemcpyDtoH")
        return content.raw

    def launch(self, function, blocks, threads, arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
        error = self.driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)
        self.check(error, "cuLaunchKernel")
        self.check(self.driver.cuCtxSynchronize(), "the kernel")


def widened(content, tiles, shape):
    """Tiles with all rows and columns, zero outside those that the kit has."""
    rows, columns, all_rows, all_columns, width = shape
    row, rest = columns * width, bytes((all_columns - columns) * width)
    lines = [content[at * row : (at + 1) * row] + rest for at in range(tiles * rows)]
    below = bytes((all_rows - rows) * all_columns * width)
    return b"".join(b"".join(lines[tile * rows : (tile + 1) * rows]) + below for tile in range(tiles))


def answer(gpu, instruction):
    known = instruction["architectures"].split()
    target = [name for name in known if name.rstrip("af") == f"sm_{gpu.capability}"]
    if not target:
        raise Failure(f"this GPU is sm_{gpu.capability}, and the instruction is one of {', '.join(known)}")
    tiles, function = instruction["tiles"], gpu.function(instruction["source"], target[0])
    memory, printed = {}, []
    for name, shape, rows, digits in instruction["operands"]:
        content = bytes.fromhex(digits)
        each, part = len(content) // tiles, rows * shape[1] * shape[4]
        printed.append((name, [content[tile * each : tile * each + part] for tile in range(tiles)]))
        memory[name] = gpu.memory(widened(content, tiles, shape))
    rows, columns, all_rows, all_columns, width = instruction["d"]
    # What a kernel leaves unwritten must not look like a result.
    d = gpu.memory(b"\xa5" * (tiles * all_rows * all_columns * width))
    arguments = [memory["A"], memory["B"], memory["C"], memory.get("positions", ctypes.c_uint64(0)), d, ctypes.c_uint64(tiles)]
    gpu.launch(function, tiles, instruction["threads"], arguments)
    results = gpu.content(d, tiles * all_rows * all_columns * width)
    print(f"tcnum-kit 1 {instruction['name']} {rows}x{columns}\ndevice: {gpu.text}")
    # FNV-1a of the bytes that are printed, so that a reader notices altered lines.
    digest = 0xCBF29CE484222325
    for tile in range(tiles):
        first = [(tile * all_rows + row) * all_columns * width for row in range(rows)]
        result = b"".join(results[at : at + columns * width] for at in first)
        for byte in b"".join([contents[tile] for _, contents in printed] + [result]):
            digest = (digest ^ byte) * 0x100000001B3 % 2**64
        words = [f"{name}={contents[tile].hex()}" for name, contents in printed]
        print(f"tile {tile}", *words, f"D={result.hex()}")
    print(f"end {tiles} {digest:016x}")


def main(instructions):
    status = 0
    try:
        gpu = Gpu()
    except Failure as failure:
        print(f"kit.py cannot run: {failure}", file=sys.stderr)
        return 1
    for instruction in instructions:
        try:
            answer(gpu, instruction)
        except Failure as failure:
            print(f"{instruction['name']} is not answered: {failure}", file=sys.stderr)
            status = 1
    return status
