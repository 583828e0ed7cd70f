//! What the program generates for CUDA, compiled for the host and by NVRTC, and executed where there is a GPU.

#[path = "../common/arithmetics/mod.rs"]
mod arithmetics;
mod chains_cuda;
mod cost_kernels;
mod cuda_device;
mod cuda_missing;
mod kernels_compile;
#[path = "../common/machine.rs"]
mod machine;
mod model_cuda;
mod products_cuda;
mod scalar_recording;
mod scalar_rules;
mod stream_cuda;
mod verify_kernels;
