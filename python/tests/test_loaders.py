"""Files of `tcnum convert`, read by the packages that define their layouts: gguf, compressed-tensors and transformers."""

import json
import subprocess

import numpy as np
import pytest

safetensors_numpy = pytest.importorskip("safetensors.numpy")


def tcnum(*words):
    done = subprocess.run(["tcnum", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def decoded(path, folder):
    """The values that tcnum reads."""
    plain = folder / "plain.safetensors"
    tcnum("convert", "--to", "f32", "--include", "*", "--input", path, "--out", plain)
    return safetensors_numpy.load_file(plain)


@pytest.fixture
def weights(rng, tmp_path):
    arrays = {
        "a.weight": rng.normal(0, 0.02, (96, 256)).astype(np.float32),
        "b.weight": rng.standard_t(4, (13, 128)).astype(np.float32),
        "c.weight": rng.normal(0, 1, (3, 8, 64)).astype(np.float32),
        "norm.weight": rng.normal(0, 1, 256).astype(np.float32),
    }
    path = tmp_path / "model.safetensors"
    safetensors_numpy.save_file(arrays, path)
    return path, arrays


@pytest.mark.parametrize("rule", [None, "mse"])
@pytest.mark.parametrize("to", ["q8-0", "q4-0", "q4-1", "mxfp4"])
def test_gguf_reads_the_blocks(weights, tmp_path, to, rule):
    gguf = pytest.importorskip("gguf")
    path, arrays = weights
    out = tmp_path / "out.gguf"
    rules = ["--scale-rule", rule] if rule else []
    tcnum("convert", "--to", to, *rules, "--input", path, "--out", out)
    values = decoded(out, tmp_path)
    reader = gguf.GGUFReader(out)
    assert {tensor.name for tensor in reader.tensors} == set(arrays)
    for tensor in reader.tensors:
        read = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(arrays[tensor.name].shape)
        assert (read == values[tensor.name]).all(), tensor.name
        kind = "F32" if tensor.name == "norm.weight" else to.upper().replace("-", "_")
        assert tensor.tensor_type.name == kind
        if to == "q4-0" and rule is None and kind == "Q4_0":
            assert (gguf.quants.quantize(arrays[tensor.name], tensor.tensor_type) == tensor.data).all()


def test_gguf_keeps_the_metadata_of_its_input(weights, tmp_path):
    gguf = pytest.importorskip("gguf")
    path, arrays = weights
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    writer = gguf.GGUFWriter(first, "llama")
    writer.add_name("drawn")
    writer.add_token_list(["a", "b"])
    for name, values in arrays.items():
        writer.add_tensor(name, values)
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file, writer.close):
        step()
    tcnum("convert", "--to", "q8-0", "--input", first, "--out", second)
    fields = [gguf.GGUFReader(path).fields for path in (first, second)]
    entries = [{name: field.contents() for name, field in all.items() if not name.startswith("GGUF.")} for all in fields]
    # The type of the file is that of what is written.
    assert entries[1] == {**entries[0], "general.file_type": gguf.LlamaFileType.MOSTLY_Q8_0}
    assert entries[0]["tokenizer.ggml.tokens"] == ["a", "b"]


@pytest.fixture
def llama(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("compressed_tensors")
    torch.manual_seed(0)
    sizes = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=1, vocab_size=64, max_position_embeddings=64)
    config = transformers.LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


# Values to which the package rounds: bf16 for NVFP4, and the type of the scales.
@pytest.mark.parametrize(
    "arguments, slack",
    [
        (["--to", "s4", "--per", "1x128"], 0),
        (["--to", "s4", "--per", "row", "--shard-size", "100kB"], 0),
        (["--to", "s8", "--per", "tensor"], 0),
        (["--to", "e4m3", "--per", "128x128"], 0),
        (["--to", "mxfp4"], 0),
        (["--to", "mxfp8"], 0),
        (["--to", "nvfp4", "--scale-rule", "mse"], 2**-8),
        (["--to", "u4-1x128", "--scale-rule", "mse"], 2**-8),
    ],
)
def test_transformers_loads_the_folder(llama, tmp_path, arguments, slack):
    import torch
    import transformers

    out = tmp_path / "out"
    tcnum("convert", *arguments, "--layout", "compressed-tensors", "--input", llama, "--out", f"{out}/")
    how = transformers.CompressedTensorsConfig(run_compressed=False)
    model = transformers.AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32, quantization_config=how)
    values = decoded(out, tmp_path)
    for name, read in model.state_dict().items():
        expected = torch.from_numpy(values[name])
        assert ((read - expected).abs() <= slack * expected.abs()).all(), name


def test_transformers_loads_a_plan_of_several_formats(llama, tmp_path):
    import torch
    import transformers
    from compressed_tensors.compressors import BaseCompressor

    out, plan = tmp_path / "out", tmp_path / "plan.toml"
    formats = "mxfp4,nvfp4,e4m3,s4-1x128,mxfp8"
    report = json.loads(
        tcnum("quantise", llama, "--budget", 5.5, "--to", formats, "--plan-out", plan, "--output", "json")
    )
    rows = report["tables"]["plan"]
    bits = sum(row["bits"] * row["values"] for row in rows) / sum(row["values"] for row in rows)
    assert bits <= 5.5 and len({row["to"] for row in rows}) > 1
    tcnum("convert", "--plan", plan, "--layout", "compressed-tensors", "--input", llama, "--out", f"{out}/")
    values = decoded(out, tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32)
    modules = {name: module for name, module in model.named_modules() if hasattr(module, "quantization_scheme")}
    assert {f"{name}.weight" for name in modules} == {row["tensor"] for row in rows}
    for name, module in modules.items():
        scheme = module.quantization_scheme
        arrays = dict(module.named_parameters(recurse=False)) | dict(module.named_buffers(recurse=False))
        read = BaseCompressor.get_value_from_registry(scheme.format).decompress(arrays, scheme)["weight"].float()
        expected = torch.from_numpy(values[f"{name}.weight"])
        assert ((read - expected).abs() <= 2**-8 * expected.abs()).all(), name
