# The program alone, in a small image. A GPU needs the driver of the host, which the NVIDIA container toolkit lends:
#
#     docker build --tag tcnum .
#     docker run --rm tcnum probe --fmt bf16 --op accumulate
#     docker run --rm --gpus all tcnum devices
#     docker run --rm --volume "$PWD:/work" tcnum convert --to mxfp4 --input w.npy --out w.safetensors
#
# NVRTC, which compiles kernels for the GPU, is not in it: put it beside the program, or build on an image of CUDA
# (--build-arg BASE=nvidia/cuda:13.0.1-runtime-ubuntu24.04).
ARG RUST=1.95
ARG BASE=debian:bookworm-slim

FROM rust:${RUST}-slim-bookworm AS build
# GMP and MPFR are built from source, by whatever versions of these the image of Rust goes with.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev m4 make && rm -rf /var/lib/apt/lists/*
WORKDIR /tcnum
COPY . .
RUN cargo build --release --locked --bin tcnum && ./target/release/tcnum manual /tcnum/man1

FROM ${BASE}
COPY --from=build /tcnum/target/release/tcnum /usr/local/bin/tcnum
COPY --from=build /tcnum/man1 /usr/local/share/man/man1
COPY LICENSE-APACHE LICENSE-MIT /usr/local/share/doc/tcnum/
WORKDIR /work
ENTRYPOINT ["tcnum"]
CMD ["--help"]
