//! Names of kernels: what they say, and schedules that contradict them.

use proptest::prelude::*;
use tcnum::{arithmetic::Model, isa};
use tcnum_engine::product::{
    Schedule,
    kernel::{Contradiction, KernelNames, KernelTable, Says},
};

use crate::machine::amount;

const TABLE: &str = include_str!("../../schedules/kernels.toml");

/// Kernels of one call, and what they say.
const NAMES: &[(&[&str], &str)] = &[
    (
        &["nvjet_sm90_tst_64x8_64x16_2x4_h_bz_NNT"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, bf16 operands, sums in f32, D in bf16, tile 64 x 8 x 64, 16 stages, k not split, sums not promoted, no C",
    ),
    (
        &[
            "nvjet_sm90_tst_128x16_64x11_4x1_v_bz_splitK_NNT",
            "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, float, __nv_bfloat16, __nv_bfloat16, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, ...)",
        ],
        "nvjet kernel of cuBLAS for sm_90, reduction of split-k: wgmma, bf16 operands, sums in f32, D in bf16, tile 128 x 16 x 64, 11 stages, k split, parts kept in f32, parts added in f32, sums not promoted, no C",
    ),
    (
        &[
            "nvjet_sm90_tst_128x16_64x11_4x1_v_bz_splitK_bias_TNT",
            "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, float, __nv_bfloat16, __nv_bfloat16, true, true, false, false>(cublasLt::cublasSplitKParams<float>, float const*, ...)",
        ],
        "nvjet kernel of cuBLAS for sm_90, reduction of split-k: wgmma, bf16 operands, sums in f32, D in bf16, tile 128 x 16 x 64, 11 stages, k split, parts kept in f32, parts added in f32, sums not promoted, bias added before rounding, no C",
    ),
    (
        &["nvjet_sm90_tst_64x8_64x16_2x4_h_badd_NNT"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, bf16 operands, sums in f32, D in bf16, tile 64 x 8 x 64, 16 stages, k not split, sums not promoted, C added",
    ),
    (
        &["nvjet_sm90_hsh_24x64_64x16_4x2_h_bz_bias_TNN"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, f16 operands, sums in f32, D in f16, tile 24 x 64 x 64, 16 stages, k not split, sums not promoted, bias added before rounding, no C",
    ),
    (
        &["nvjet_sm90_qqsss_8x64_128x16_4x1_v_bz_algo2_TNN"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, e4m3 operands, sums in f32, D in f32, tile 8 x 64 x 128, 16 stages, k not split, sums promoted every 128, no C",
    ),
    (
        &["nvjet_sm90_qqtst_64x128_128x8_2x1_v_bz_TNN"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, e4m3 operands, sums in f32, D in bf16, tile 64 x 128 x 128, 8 stages, k not split, sums not promoted, no C",
    ),
    (
        &["nvjet_sm90_qqtst_128x128_128x6_1x1_h_bz_coopA_algo2_ovscale_TNT"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, e4m3 operands, sums in f32, D in bf16, tile 128 x 128 x 128, 6 stages, k not split, sums promoted every 128, no C",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_75_tensorop_s1688gemm_bf16_64x64_nn_align1>(cutlass_75_tensorop_s1688gemm_bf16_64x64_nn_align1::Params)",
            "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, ...)",
        ],
        "CUTLASS 2 kernel for sm_75 and later, reduction of split-k: mma.m16n8k8, bf16 operands, sums in f32, tile 64 x 64, k split, parts kept in bf16, parts added in f32",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_32x32_64x1_nn_align1>(cutlass_75_wmma_tensorop_f16_s161616gemm_f16_32x32_64x1_nn_align1::Params)",
        ],
        "CUTLASS 2 kernel for sm_75 and later: wmma.m16n16k16, f16 operands, sums in f32, D in f16, tile 32 x 32 x 64, 1 stage",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_wmma_tensorop_h161616gemm_32x32_128x2_nn_align8>(cutlass_80_wmma_tensorop_h161616gemm_32x32_128x2_nn_align8::Params)",
        ],
        "CUTLASS 2 kernel for sm_80 and later: wmma.m16n16k16, f16 operands, sums in f16, tile 32 x 32 x 128, 2 stages",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)",
            "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, false, float, float, float, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, ...)",
        ],
        "CUTLASS 2 kernel for sm_80 and later, reduction of split-k: fused multiply-adds, f32 operands, sums in f32, tile 128 x 32 x 8, 5 stages, k split, parts kept in f32, parts added in f32",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(cutlass_80_simt_sgemm_64x64_8x5_tn_align1::Params)",
        ],
        "CUTLASS 2 kernel for sm_80 and later: fused multiply-adds, f32 operands, sums in f32, tile 64 x 64 x 8, 5 stages",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_32x32_16x5_nn_align1>(cutlass_80_tensorop_d884gemm_32x32_16x5_nn_align1::Params)",
            "void cublasLt::splitKreduce_kernel<32, 16, int, double, double, double, double, false, double, double, double, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, ...)",
        ],
        "CUTLASS 2 kernel for sm_80 and later, reduction of split-k: mma.m8n8k4, f64 operands, sums in f64, tile 32 x 32 x 16, 5 stages, k split, parts kept in f64, parts added in f64",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_tensorop_h16816gemm_64x64_64x6_nn_align8>(cutlass_80_tensorop_h16816gemm_64x64_64x6_nn_align8::Params)",
            "void cublasLt::splitKreduce_kernel<32, 16, int, __half, __half, __half, __half, false, __half, __half, __half, true, false, false, false>(cublasLt::cublasSplitKParams<float>, float const*, ...)",
        ],
        "CUTLASS 2 kernel for sm_80 and later, reduction of split-k: mma.m16n8k16, f16 operands, sums in f16, tile 64 x 64 x 64, 6 stages, k split, parts kept in f16, parts added in f16",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_64x64_128x6_tn_align16>(cutlass_80_tensorop_i16832gemm_s8_64x64_128x6_tn_align16::Params)",
        ],
        "CUTLASS 2 kernel for sm_80 and later: mma.m16n8k32, s8 operands, sums in s32, tile 64 x 64 x 128, 6 stages",
    ),
    (
        &[
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4>(cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4::Params)",
        ],
        "CUTLASS 2 kernel for sm_80 and later: mma.m16n8k8, tf32 operands, sums in f32, tile 64 x 64 x 32, 6 stages",
    ),
    (
        &[
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
        ],
        "xmma kernel of cuBLAS for sm_80 and later: fused multiply-adds, f32 operands, sums in f32, D in f32, tile 32 x 32 x 8, 3 stages",
    ),
    (
        &[
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
            "loop_reduce_fusion",
        ],
        "xmma kernel of cuBLAS for sm_80 and later, reduction of XLA: fused multiply-adds, f32 operands, sums in f32, D in f32, tile 64 x 128 x 8, 3 stages, k split",
    ),
    (
        &[
            "sm90_xmma_gemm_f16f16_f16f16_f16_nn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        ],
        "xmma kernel of cuBLAS for sm_90: wgmma, f16 operands, sums in f16, D in f16, tile 128 x 128 x 64, k not split",
    ),
    (
        &[
            "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x128x32_warpgroupsize1x1x1_execute_segment_k_on_kernel__5x_cublas",
        ],
        "xmma kernel of cuBLAS for sm_90: wgmma, tf32 operands, sums in f32, D in f32, tile 64 x 128 x 32, k split",
    ),
    (
        &[
            "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        ],
        "xmma kernel of cuBLAS for sm_90: wgmma, tf32 operands, sums in f32, D in f32, tile 64 x 64 x 32, k not split",
    ),
    (
        &[
            "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize32x32x32_stage5_warpsize2x2x1_tensor16x8x16_execute_kernel__5x_cublas",
            "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize32x32x32_stage5_warpsize2x2x1_tensor16x8x16_execute_split_k_kernel__5x_cublas",
        ],
        "xmma kernel of cuBLAS for sm_90 and later: mma.m16n8k16, f64 operands, sums in f64, D in f64, tile 32 x 32 x 32, 5 stages, k split",
    ),
    (
        &[
            "void gemmSN_NN_kernel<float, 256, 4, 2, 8, 4, 4, false, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float> >(cublasGemmSmallNParams<cublasGemvTensorStridedBatched<float const>, float>)",
        ],
        "cuBLAS kernel for few columns: fused multiply-adds, f32 operands",
    ),
    (
        &[
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, float, float, float, false, true, false, false, 8, false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>, float> >(cublasGemvParamsEx<int, float>)",
        ],
        "cuBLAS kernel for a vector: fused multiply-adds",
    ),
    (
        &[
            "void scal_kernel<float, float, 1, true, 6, 5, 5, 3>(cublasTransposeParams<float>, float const*, float*, float const*)",
            "void sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>(float*, float const*, float const*, int, int)",
            "void cublasLt::epilogue::impl::globalKernel<8, 32, float, float, float, true, true, 1>(int, int, long, float*)",
        ],
        "cuBLAS kernel for long k, scaling of D, separate epilogue: fused multiply-adds, f32 operands, sums in f32, k split, bias added to the rounded D",
    ),
    (
        &["loop_pad_fusion", "loop_pad_fusion_1", "gemm_fusion_dot", "loop_reduce_fusion"],
        "Triton kernel of XLA, padding of XLA, reduction of XLA: k split",
    ),
    (&["gemm_fusion_dot", "input_reduce_fusion"], "Triton kernel of XLA, reduction of XLA: k split"),
    (&["mm"], "The name `mm` says nothing: the table of kernels lacks it."),
    (
        &["nvjet_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"],
        "nvjet kernel of cuBLAS: bf16 operands, sums in f32, D in bf16, tile 256 x 128 x 64, 4 stages, bias added before rounding, no C",
    ),
    (
        &["nvjet_sm90_tss_64x8_64x16_4x1_v_bz_splitK_TNT"],
        "nvjet kernel of cuBLAS for sm_90: wgmma, bf16 operands, sums in f32, D in f32, tile 64 x 8 x 64, 16 stages, k split, sums not promoted, no C",
    ),
    (
        &["nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_bias_TNT"],
        "nvjet kernel of cuBLAS for sm_100: tcgen05, e4m3 operands, sums in f32, D in bf16, tile 128 x 256 x 128, 6 stages, k not split, bias added before rounding, no C",
    ),
    (
        &["nvjet_sm100_qqsss_128x128_128x8_2x4_2cta_h_bz_Avec32UE8M0_Bvec32UE8M0_TNT"],
        "nvjet kernel of cuBLAS for sm_100: tcgen05, e4m3 operands, sums in f32, D in f32, tile 128 x 128 x 128, 8 stages, k not split, no C",
    ),
    (
        &["nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN"],
        "nvjet kernel of cuBLAS for sm_120: mma, bf16 operands, sums in f32, D in bf16, tile 64 x 64 x 128, 3 stages, no C",
    ),
    (
        &[
            "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x128x32_stage5_warpsize2x2x1_tensor16x8x16_aligna2_alignc2_execute_kernel_trt",
        ],
        "xmma kernel of cuBLAS for sm_80 and later: mma.m16n8k16, f16 operands, sums in f32, D in f16, tile 64 x 128 x 32, 5 stages",
    ),
    (
        &["ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x6_tn"],
        "cuBLAS kernel for sm_80 and later: mma.m16n8k16, f16 operands, sums in f32, D in f16, tile 64 x 64 x 64, 6 stages, 2 warps along k",
    ),
    (
        &["ampere_h16816gemm_128x128_ldg8_stages_64x3_nt_v1"],
        "cuBLAS kernel for sm_80 and later: mma.m16n8k16, f16 operands, sums in f16, tile 128 x 128 x 64, 3 stages",
    ),
    (
        &["ampere_sgemm_128x64_nn"],
        "cuBLAS kernel for sm_80 and later: fused multiply-adds, f32 operands, sums in f32, tile 128 x 64",
    ),
    (
        &["volta_sgemm_32x32_sliced1x4_tn"],
        "cuBLAS kernel for sm_70 and later: fused multiply-adds, f32 operands, sums in f32, tile 32 x 32, 4 warps along k",
    ),
    (
        &["turing_fp16_s1688gemm_fp16_128x64_sliced1x2_ldg8_f2f_tn"],
        "cuBLAS kernel for sm_75 and later: mma.m16n8k8, f16 operands, sums in f32, D in f16, tile 128 x 64, 2 warps along k",
    ),
    (
        &["cutlass_tensorop_s16816gemm_f16_256x128_32x3_nn_align8"],
        "CUTLASS 2 kernel: mma.m16n8k16, f16 operands, sums in f32, tile 256 x 128 x 32, 3 stages",
    ),
    (
        &["cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x4_tn_align8"],
        "CUTLASS 2 kernel for sm_80 and later: mma.m16n8k16, f16 operands, sums in f32, D in f16, tile 128 x 128 x 32, 4 stages",
    ),
    (
        &[
            "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_2x1x1_0_tnn_align8_warpspecialized_cooperative_epi_tma",
        ],
        "CUTLASS 3 kernel for sm_90: wgmma, instruction 64 x 128 x 16, f16 operands, sums in f32, D in f16, tile 128 x 128 x 64",
    ),
    (
        &["void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 4096u, 8192u, 1u, 256u>"],
        "DeepGEMM kernel for sm_90: wgmma, e4m3 operands, sums in f32, sums promoted every 128",
    ),
    (
        &["void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 128u, 16u>"],
        "DeepGEMM kernel for sm_90: wgmma, e4m3 operands, sums in f32, sums promoted every 128",
    ),
    (&["matmul_kernel"], "Triton kernel: nothing about the bits"),
];

fn read(names: &[&str]) -> KernelNames {
    KernelNames::of(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>())
}

fn schedule(keys: &str) -> Schedule {
    Schedule::parse(keys, "test").unwrap()
}

#[test]
fn names_of_kernels_say_what_their_words_mean() {
    for (names, sentence) in NAMES {
        let read = read(names);
        assert_eq!(read.sentence(), *sentence, "{names:?}");
        for (kernel, word, _) in read.facts() {
            assert!(!word.meaning.contains(['{', '}']), "{word:?}");
            assert!(kernel.name.contains(&word.word) != word.absent, "{word:?}");
        }
    }
}

#[test]
fn a_kernel_of_an_early_target_also_runs_on_later_ones() {
    let models = |name: &str| -> Vec<&str> {
        let names = read(&[name]);
        let fits = |model: &&str| names.of_model(&Model::load(model).unwrap()).next().is_none();
        ["volta", "turing", "ampere", "hopper", "blackwell", "cdna3"].into_iter().filter(fits).collect()
    };
    assert_eq!(models("nvjet_sm90_tst_64x8_64x16_2x4_h_bz_NNT"), ["hopper"]);
    assert_eq!(models("nvjet_sm100_tst_64x8_64x16_2x4_h_bz_NNT"), ["blackwell"]);
    assert_eq!(models("cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4"), ["ampere", "hopper", "blackwell"]);
    assert_eq!(models("mm"), ["volta", "turing", "ampere", "hopper", "blackwell", "cdna3"]);
    let targets = |name: &str| -> Vec<&str> { read(&[name]).targets().iter().map(|target| target.name).collect() };
    assert_eq!(targets("nvjet_sm90_tst_64x8_64x16_2x4_h_bz_NNT"), ["sm_90a"]);
    assert!(targets("turing_h1688gemm_128x128_ldg8_nt").contains(&"sm_75"));
    assert!(!targets("turing_h1688gemm_128x128_ldg8_nt").contains(&"sm_70"));
}

#[test]
fn each_kind_of_fact_contradicts_a_schedule_that_does_otherwise() {
    const HALF: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
    const BF16: &str = "output = { format = \"bf16\" }";
    let reduced = |joined: &str, partials: &str| {
        format!("splitKreduce_kernel<32, 16, int, {joined}, 1, 1, 1, 0, {partials}, 1, 1, true, false, false, false>")
    };
    let (in_f32, in_bf16, in_f16) =
        (reduced("float", "float"), reduced("float", "__nv_bfloat16"), reduced("__half", "__half"));
    let output = |keys: &str| format!("{keys}\n{BF16}");
    let cases: &[(&str, &str, String, &str)] = &[
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_bz_splitK_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            output(""),
            "`splitK` says that k is split; this schedule has one part",
        ),
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_bz_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            output("split = { count = 4 }"),
            "the name without `splitK` says that k is not split; this schedule has 4 parts",
        ),
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_bz_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            output("promote = 128"),
            "the name without `algo2` says that sums are not promoted; this schedule promotes every 128",
        ),
        (
            "nvjet_sm90_qqtst_8x8_128x4_1x1_h_bz_algo2_TNN",
            "wgmma.m64n8k32.f32.e4m3.e4m3",
            output(""),
            "`algo2` says that sums are promoted every 128; this schedule does not promote",
        ),
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_bz_NNT",
            HALF,
            output(""),
            "`sm90` says that the instruction is wgmma; mma.m16n8k16.f32.bf16.bf16.f32 is not",
        ),
        (
            "nvjet_sm90_hsh_8x8_64x4_1x1_h_bz_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            output(""),
            "`hsh` says that the operands are f16; wgmma.m64n8k16.f32.bf16.bf16 has bf16 and bf16",
        ),
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_bz_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            String::new(),
            "`tst` says that D is in bf16; this schedule has D in f32",
        ),
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_badd_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            output("c = \"start\""),
            "`badd` says that C is added after rounding; this schedule adds C at the start",
        ),
        (
            "nvjet_sm90_tst_8x8_64x4_1x1_h_bz_bias_NNT",
            "wgmma.m64n8k16.f32.bf16.bf16",
            output("bias = \"rounded\""),
            "`bias` says that the bias is added before D is rounded; this schedule adds it to the rounded D",
        ),
        (
            "cutlass_80_tensorop_s16816gemm_bf16_64x64_32x6_nn_align4",
            "mma.m16n8k8.f32.bf16.bf16.f32",
            String::new(),
            "`s16816gemm` says that the instruction is 16 x 8 x 16; mma.m16n8k8.f32.bf16.bf16.f32 is not",
        ),
        (
            "cutlass_80_tensorop_h16816gemm_64x64_32x6_nn_align4",
            "mma.m16n8k16.f32.f16.f16.f32",
            String::new(),
            "`h16816gemm` says that sums are in f16; mma.m16n8k16.f32.f16.f16.f32 has f32",
        ),
        (
            "cutlass_80_tensorop_s16816gemm_bf16_64x64_32x6_nn_align4",
            HALF,
            "slab = 64\nresidue = \"first\"".into(),
            "`32x6` says that k is taken 32 at a time; this schedule has slabs of 64",
        ),
        (
            "cutlass_80_simt_sgemm_64x64_8x5_nn_align1",
            "mma.m16n8k8.f32.tf32.tf32.f32",
            String::new(),
            "`simt` says that there is no matrix instruction; mma.m16n8k8.f32.tf32.tf32.f32 is one",
        ),
        (
            "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_nn",
            HALF,
            output(""),
            "`sliced1x2` says that 2 warps sum parts of a tile's k; this schedule has one accumulator",
        ),
        (
            &in_f32,
            HALF,
            output("split = { count = 4, join = \"output\" }"),
            "`float` says that parts are kept in f32; this schedule keeps them in bf16",
        ),
        (
            &in_bf16,
            HALF,
            output("split = { count = 4 }"),
            "`__nv_bfloat16` says that parts are kept in bf16; this schedule keeps them in f32",
        ),
        (
            &in_f16,
            "mma.m16n8k16.f16.f16.f16.f16",
            "split = { count = 4 }".into(),
            "`__half` says that parts are added in f16; this schedule adds them in f32",
        ),
        (&in_f32, HALF, output(""), "`splitKreduce_kernel` says that k is split; this schedule has one part"),
    ];
    for (name, instruction, keys, sentence) in cases {
        let schedule = schedule(&format!("instruction = \"{instruction}\"\n{keys}"));
        let contradiction = read(&[name]).of_match(&schedule.instruction, &schedule, 1000).next();
        let Contradiction { sentence: actual, kernel, source, .. } =
            contradiction.unwrap_or_else(|| panic!("{name}: {keys}"));
        assert_eq!((actual.as_str(), kernel.as_str()), (*sentence, *name));
        assert!(TABLE.contains(&source), "{source}");
    }
}

#[test]
fn every_fact_that_a_schedule_contradicts_is_said() {
    const SEGMENT_OFF: &str = "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
    const AMPERE: &str = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn";
    const SPLIT: &str = "nvjet_sm90_hsh_64x8_64x16_4x1_v_bz_splitK_NNT";
    const F16: &str = "output = { format = \"f16\" }";
    let (split, parts) = ("k is split", "k is not split");
    // A name, the instruction and the keys of the schedule found, and what the name says otherwise.
    let cases: &[(&str, &str, String, &[&str])] = &[
        (SEGMENT_OFF, "wgmma.m64n8k16.f32.f16.f16", F16.into(), &[]),
        (SEGMENT_OFF, "wgmma.m64n8k16.f32.f16.f16", format!("split = {{ count = 4 }}\n{F16}"), &[parts]),
        (
            SEGMENT_OFF,
            "mma.m16n8k16.f32.bf16.bf16.f32",
            "split = { count = 2 }".into(),
            &["the operands are f16", "the instruction is wgmma", "D is in f16", parts],
        ),
        (AMPERE, "mma.m16n8k16.f32.f16.f16.f32", F16.into(), &[]),
        (
            AMPERE,
            "mma.m16n8k16.f32.bf16.bf16.f32",
            "output = { format = \"bf16\" }".into(),
            &["the operands are f16", "D is in f16"],
        ),
        (AMPERE, "mma.m16n8k8.f32.f16.f16.f32", F16.into(), &["the instruction is 16 x 8 x 16"]),
        (AMPERE, "mma.m16n8k16.f16.f16.f16.f16", String::new(), &["sums are in f32"]),
        (AMPERE, "wgmma.m64n8k16.f32.f16.f16", F16.into(), &["the instruction is mma"]),
        (SPLIT, "wgmma.m64n8k16.f32.f16.f16", format!("split = {{ count = 4 }}\n{F16}"), &[]),
        (SPLIT, "wgmma.m64n8k16.f32.f16.f16", F16.into(), &[split]),
        (SPLIT, "wgmma.m64n8k16.f32.f16.f16", format!("promote = 64\n{F16}"), &[split, "sums are not promoted"]),
    ];
    for (name, instruction, keys, expected) in cases {
        let schedule = schedule(&format!("instruction = \"{instruction}\"\n{keys}"));
        let names = read(&[name]);
        let mut said: Vec<String> = names
            .of_match(&schedule.instruction, &schedule, 1000)
            .map(|contradiction| {
                contradiction.sentence.split_once(" says that ").unwrap().1.split("; ").next().unwrap().to_string()
            })
            .collect();
        let mut expected = expected.to_vec();
        said.sort();
        expected.sort_unstable();
        assert_eq!(said, expected, "{name} and {instruction}, {keys}");
    }
}

#[test]
fn a_name_does_not_contradict_the_schedule_that_gives_its_products() {
    let reduction = |joined: &str, partials: &str| {
        format!("splitKreduce_kernel<32, 16, int, {joined}, 1, 1, 1, 0, {partials}, 1, 1, true, false, false, false>")
    };
    let cases: &[(&[&str], &str, &str)] = &[
        (
            &["nvjet_sm90_tst_64x24_64x16_2x4_h_bz_bias_TNT"],
            "wgmma.m64n8k16.f32.bf16.bf16",
            "output = { format = \"bf16\" }",
        ),
        (
            &["nvjet_sm90_tst_128x16_64x11_4x1_v_bz_splitK_NNT", &reduction("float", "float")],
            "wgmma.m64n8k16.f32.bf16.bf16",
            "split = { count = 3 }\noutput = { format = \"bf16\" }",
        ),
        (&["nvjet_sm90_qqsss_24x64_128x16_4x2_h_bz_algo2_TNN"], "wgmma.m64n8k32.f32.e4m3.e4m3", "promote = 128"),
        (
            &["cutlass_80_tensorop_h16816gemm_64x64_64x6_nn_align8", &reduction("__half", "__half")],
            "mma.m16n8k16.f16.f16.f16.f16",
            "slab = 64\nresidue = \"first\"\nsplit = { count = 4, join = \"serial\" }",
        ),
        (
            &["cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4"],
            "mma.m16n8k8.f32.tf32.tf32.f32",
            "operands = { rounding = \"RNE\" }",
        ),
        (&["cutlass_80_tensorop_i16832gemm_s8_64x64_128x6_tn_align16"], "mma.m16n8k32.s32.s8.s8.s32", ""),
        (&["cutlass_80_simt_sgemm_64x64_8x5_nn_align1"], "vfmadd.m1n16k1.f32.f32.f32.f32", ""),
        (&["loop_pad_fusion", "some_kernel"], "mma.m16n8k16.f32.f16.f16.f32", "promote = 32\nsplit = { count = 2 }"),
    ];
    for (names, instruction, keys) in cases {
        let schedule = schedule(&format!("instruction = \"{instruction}\"\n{keys}"));
        assert_eq!(read(names).of_match(&schedule.instruction, &schedule, 1000).next(), None, "{names:?}");
    }
}

#[test]
fn an_instruction_with_the_arithmetic_of_the_schedule_s_may_be_the_named_one() {
    let schedule = schedule("instruction = \"mma.m16n8k16.f32.f16.f16.f32\"");
    let names = read(&["nvjet_sm90_hss_64x8_64x16_2x4_h_bz_NNT"]);
    let alike = isa::find("wgmma.m64n8k16.f32.f16.f16").unwrap();
    assert!(names.of_match(&schedule.instruction, &schedule, 256).next().is_some());
    assert_eq!(names.of_match(&alike, &schedule, 256).next(), None);
}

#[test]
fn a_request_lacks_the_c_or_the_bias_that_a_name_has() {
    let sentence =
        |name: &str, c, bias| read(&[name]).of_request(c, bias).map(|contradiction| contradiction.sentence).next();
    let (zero, added) = ("nvjet_sm90_tst_8x8_64x4_1x1_h_bz_NNT", "nvjet_sm90_tst_8x8_64x4_1x1_h_badd_NNT");
    assert_eq!(sentence(zero, true, false).unwrap(), "`bz` says that no C is added; C is given");
    assert_eq!(sentence(added, false, false).unwrap(), "`badd` says that beta*C is added; no C is given");
    assert_eq!(
        sentence("nvjet_sm90_tst_8x8_64x4_1x1_h_bz_bias_NNT", false, false).unwrap(),
        "`bias` says that a bias is added; no bias is given"
    );
    assert_eq!((sentence(zero, false, false), sentence(added, true, false)), (None, None));
}

#[test]
fn what_nothing_confirms_is_called_assumed() {
    let schedule = schedule("instruction = \"mma.m16n8k8.f32.tf32.tf32.f32\"");
    let assumed = |name: &str| {
        let contradiction = read(&[name, "gemm"]).of_match(&schedule.instruction, &schedule, 512).next();
        contradiction.map(|contradiction| (contradiction.word, contradiction.assumed))
    };
    assert_eq!(assumed("loop_reduce_fusion"), Some(("loop_reduce_fusion".into(), true)));
    assert_eq!(assumed("splitKreduce_kernel"), Some(("splitKreduce_kernel".into(), false)));
    let split = |name: &str| {
        let names = read(&[name]);
        names.facts().find(|(_, _, says)| matches!(says, Says::Split(_))).map(|(_, word, _)| word.is_assumed())
    };
    assert_eq!(split("nvjet_sm90_tst_8x8_64x4_1x1_h_bz_NNT"), Some(false));
    assert_eq!(split("nvjet_sm100_tst_8x8_64x4_1x1_h_bz_NNT"), Some(true));
    assert_eq!(split("nvjet_tst_8x8_64x4_1x1_h_bz_NNT"), None);
}

#[test]
fn mangled_names_say_what_plain_ones_say() {
    let mangled = [
        "_ZN7cutlass7Kernel2I51cutlass_80_tensorop_h16816gemm_64x64_64x6_nn_align8EEvNT_6ParamsE",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb0EfffLb1ELb0ELb0ELb0EEEvNS_18cublasSplitKParamsIT6_EE",
    ];
    let plain = ["cutlass_80_tensorop_h16816gemm_64x64_64x6_nn_align8", "splitKreduce_kernel"];
    let (mangled, plain) = (read(&mangled), read(&plain));
    assert_eq!(mangled.sentence(), plain.sentence());
    assert_eq!(mangled.is_split(), Some(true));
    assert!(mangled.kernels.iter().all(|kernel| kernel.unread.is_empty()));
}

#[test]
fn an_unknown_name_says_nothing_and_is_said_to() {
    let names = read(&["my_kernel", "cutlass_80_conv2d_fprop"]);
    assert!(!names.is_known() && names.facts().next().is_none() && names.is_split().is_none());
    assert_eq!(
        names.sentence(),
        "The names `my_kernel`, `cutlass_80_conv2d_fprop` say nothing: the table of kernels lacks them."
    );
    assert_eq!(read(&[]).sentence(), "No kernel is named.");
}

#[test]
fn a_name_that_was_cut_off_says_nothing_by_what_it_lacks() {
    let name = "nvjet_sm90_tst_128x16_64x11_4x1_v_bz_TNT";
    assert_eq!(read(&[name]).is_split(), Some(false));
    let last = name.rfind('_').unwrap();
    assert!((0..=last).all(|length| read(&[&name[..length]]).is_split().is_none()));
}

#[test]
fn words_that_the_table_lacks_are_kept() {
    let names = read(&["nvjet_sm90_tst_8x8_64x4_1x1_h_bz_newWord_NNT"]);
    assert_eq!(names.kernels[0].unread, ["newWord"]);
    assert_eq!(names.tile_k(), Some(64));
    assert!(names.facts().any(|(_, _, says)| *says == Says::Layout("nnt".into())));
}

#[test]
fn a_wrong_row_of_the_table_is_refused_with_its_line() {
    let first = TABLE.find("[[spelling]]").unwrap();
    let row = "[[spelling]]\nname = \"x\"\ntitle = \"x\"\nlibrary = \"x\"\nrole = \"product\"\nbegins = [\"x\"]\nsource = \"assumed\"\n\n";
    let lines = 1 + row.matches('\n').count();
    for (word, message) in [
        ("word = \"x\"\nmeaning = \"x\"", "missing field `source`"),
        ("word = \"x\"\nmeaning = \"x\"\nsource = \"I think\"", "it begins with one of"),
        ("word = \"x\"\nmeaning = \"\"\nsource = \"assumed\"", "meaning is empty"),
        ("word = \"x{tile}\"\nmeaning = \"x\"\nsource = \"assumed\"", "'{tile}' is not a hole"),
        ("word = \"x{m\"\nmeaning = \"x\"\nsource = \"assumed\"", "'{' without '}'"),
        ("word = \"x\"\nmeaning = \"{m}\"\nsource = \"assumed\"", "meaning has '{m}', which the word lacks"),
        ("word = \"{ab}\"\nmeaning = \"x\"\nsource = \"assumed\"", "the spelling has no types"),
        (
            "word = \"x\"\nmeaning = \"x\"\nsource = \"assumed\"\nsays = { unit = \"npu\" }",
            "unit = \"npu\": expected one of",
        ),
        ("word = \"x\"\nmeaning = \"x\"\nsource = \"assumed\"\nsays = { operands = \"f17\" }", "f17"),
        ("word = \"x\"\nmeaning = \"x\"\nsource = \"assumed\"\nsay = { split = true }", "unknown field `say`"),
        ("word = \"x\"\nargument = 1\nmeaning = \"x\"\nsource = \"assumed\"", "number of arguments"),
        ("meaning = \"x\"\nsource = \"assumed\"", "a row has a word"),
        ("with = [\"x\"]\nwithout = \"y\"\nmeaning = \"x\"\nsource = \"assumed\"", "with = \"x\" is not a word"),
    ] {
        let error =
            KernelTable::parse(&format!("shape = []\n{row}[[spelling.word]]\n{word}\n"), "file.toml").unwrap_err();
        let text = error.to_string();
        assert!(error.exit_status() == 2 && text.contains(message), "{word}: {text}");
        let line: usize = text.strip_prefix("file.toml, line ").unwrap().split(':').next().unwrap().parse().unwrap();
        assert!(line > lines && line <= lines + 1 + word.lines().count(), "{word}: {text}");
    }
    assert!(KernelTable::parse(TABLE, "file.toml").is_ok() && first > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(200, 5_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text_says_nothing(name in "\\PC{0,60}") {
        let names = read(&[&name]);
        prop_assert!(names.facts().next().is_none(), "{names:?}");
        prop_assert!(names.sentence().contains("nothing"));
    }

    #[test]
    fn pieces_of_names_are_read_without_a_panic(
        pieces in proptest::collection::vec("(nvjet_|cutlass_|sm90|_xmma_gemm|80|_|s16816gemm|64x8|<|>|,|\\(bool\\)1|splitKreduce_kernel|é|19|::|bz|splitK|[a-z0-9_]{1,3})", 0..12),
    ) {
        let name = pieces.concat();
        let names = read(&[&name]);
        for (kernel, word, _) in names.facts() {
            prop_assert!(word.absent || kernel.name.contains(&word.word));
        }
        let schedule = schedule("instruction = \"mma.m16n8k16.f32.f16.f16.f32\"");
        prop_assert!(
            names.of_match(&schedule.instruction, &schedule, 64).all(|contradiction| contradiction.kernel == name)
        );
        prop_assert!(!names.sentence().is_empty());
    }
}
