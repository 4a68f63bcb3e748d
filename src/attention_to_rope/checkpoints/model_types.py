"""What the code of transformers 5.23.0 does and a configuration does not say, by model type.

The types of text models are those of `text_config`, such as `gemma3_text`. tests/peers asks every
rotary class of transformers again: test_rotary_classes.py calls the functions that rotate and
compares frequencies, and the tables below must be what it finds.
"""

# fmt: off
# Pair i is (i, i + d/2); found by calling `apply_rotary_pos_emb` of modeling_<model type>.py.
HALF_MODELS = frozenset({
    "afmoe", "apertus", "arcee", "aria_text", "bamba", "beam", "bitnet", "chameleon",
    "cosmos3_edge_text", "csm", "cwm", "dbrx", "deepseek_ocr2_text", "dia_encoder", "diffllama",
    "diffusion_gemma_text", "doge", "dots1", "embedding_gemma2_text", "emu3_text_model", "esm",
    "esmc", "eurobert", "evolla", "exaone4", "exaone_moe", "falcon", "falcon_h1", "flex_olmo",
    "flint", "gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text",
    "gemma4_unified_text", "glm4_moe", "glmasr_encoder", "gpt_neox", "gpt_neox_japanese",
    "gpt_oss", "gradium_phonon_tts", "granite", "granite_docling_text", "granite_swa",
    "granitemoe", "granitemoe_swa", "granitemoehybrid", "granitemoeshared", "gte", "hrm_text",
    "hunyuan_v1_dense", "hunyuan_v1_moe", "hy_v3", "hy_v4", "hyperclovax", "idefics", "jais2",
    "jetmoe", "jina_embeddings_v3", "kolibri1", "kyutai_speech_to_text", "laguna", "lfm2",
    "lfm2_moe", "lfm3", "llama", "mellum", "mimi", "mimo_v2_flash", "minicpm3", "minimax",
    "minimax_m2", "minimax_m3_vl_text", "ministral", "ministral3", "mistral", "mixtral",
    "mllama_text_model", "modernbert", "modernbert-decoder", "molmo2_text", "moshi",
    "muse_glimmer_assistant", "muse_glimmer_text", "muse_spark_text", "nemotron",
    "nemotron3_5_transcribe_asr_audio", "neomme", "neucodec", "nomic_bert", "olmo", "olmo2",
    "olmo3", "olmo_hybrid", "olmoe", "paddleocr_vl_text", "persimmon", "phi", "phi3",
    "phi4_multimodal", "phimoe", "pocket_tts", "qwen2", "qwen2_5_omni_text", "qwen2_5_vl_text",
    "qwen2_moe", "qwen2_vl_text", "qwen3", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe",
    "qwen3_next", "qwen3_omni_moe_text", "qwen3_vl_moe_text", "qwen3_vl_text", "qwen4_exp_text",
    "recurrent_gemma", "seed_oss", "smollm3", "solar_open", "stablelm", "starcoder2", "step3p5",
    "t5_gemma_module", "t5gemma2_text", "timesfm2_5", "ultrabert", "unlimited_ocr_text",
    "vaultgemma", "voxtral_realtime_text", "xcodec2", "zamba2", "zaya",
})
# Pair i is (2i, 2i + 1); found in the same way.
INTERLEAVED_MODELS = frozenset({
    "axk2", "bailing_hybrid", "blt_local_encoder", "codegen", "cohere", "cohere2", "cohere2_moe",
    "deepseek_v2", "deepseek_v32", "deepseek_v4", "dots3_note_text", "ernie4_5", "ernie4_5_moe",
    "glm", "glm4", "glm_moe_dsa", "glm_ocr_text", "gptj", "helium", "llama4_text", "longcat_flash",
    "mistral_large4_text", "moonshine", "moonshine_streaming", "openai_privacy_filter", "roformer",
})
# Interleaved; their configurations may switch to halves with "rope_interleave": false.
SWITCHED_MODELS = frozenset({
    "axk1", "deepseek_v3", "glm4_moe_lite", "mistral4", "youtu",
})
# Their classes read `partial_rotary_factor`; the others of the tables above rotate all of a head.
PARTIAL_MODELS = frozenset({
    "bamba", "deepseek_v4", "diffusion_gemma_text", "dots3_note_text", "efficientloftr", "glm",
    "glm4", "glm4_moe", "glm4_moe_lite", "glm4v_moe_text", "glm4v_text", "glm_image_text",
    "glm_ocr_text", "glmasr_encoder", "gpt_neox", "gpt_neox_japanese", "laguna", "mellum",
    "mimo_v2_flash", "minimax_m2", "minimax_m3_vl_text", "moonshine", "moonshine_streaming",
    "musicflamingo", "nemotron", "nemotron3_5_transcribe_asr_audio", "neomme", "persimmon", "phi",
    "phi3", "phi4_multimodal", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "qwen4_exp_text",
    "recurrent_gemma", "solar_open", "stablelm", "step3p5", "zaya",
})
# Of these, those that rotate a part even where the configuration does not say so.
UNSTATED_PARTIAL_MODELS = frozenset({
    "bamba", "efficientloftr", "glm", "glm4", "glm4_moe", "glm4v_moe_text", "glmasr_encoder",
    "gpt_neox", "minimax_m3_vl_text", "moonshine", "moonshine_streaming", "musicflamingo",
    "nemotron", "nemotron3_5_transcribe_asr_audio", "neomme", "persimmon", "phi",
    "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next", "recurrent_gemma", "stablelm",
})
# Their attention multiplies the scale of the softmax by a power of `mscale_all_dim`'s factor.
SCORE_FACTOR_MODELS = frozenset({
    "axk1", "axk2", "bailing_hybrid", "deepseek_v2", "deepseek_v3", "deepseek_v32",
    "glm4_moe_lite", "glm_moe_dsa", "hy_v4", "longcat_flash", "minicpm3", "mistral4",
    "mistral_large4_text", "youtu",
})
# Layers with a sliding window rotate, full ones do not; in the second group, if there is a window.
WINDOW_ONLY_MODELS = frozenset({"afmoe", "cohere2", "cohere2_moe", "flint"})
WINDOW_FIRST_MODELS = frozenset({"exaone4", "exaone_moe", "kolibri1"})
# fmt: on
# Without rope parameters they take their own, whatever `rope_theta` says.
OWN_PARAMETERS_MODELS = frozenset(
    {
        "apertus",
        "cosmos3_edge_text",
        "cwm",
        "gpt_oss",
        "ministral3",
        "mistral4",
        "moonshine_streaming",
        "muse_spark_text",
        "nemotron3_5_transcribe_asr_audio",
        "openai_privacy_filter",
    }
)
# They call the base `rotary_emb_base` and the partial factor `rotary_pct`, and no others do.
NEOX_MODELS = frozenset({"gpt_neox", "gpt_neox_japanese"})
# They ignore `rope_scaling`, the older name of `rope_parameters`.
NEW_NAME_MODELS = frozenset({"cohere2_moe"})
# Compared, with a layout that the test cannot tell.
OTHER_MODELS = frozenset({"hunyuan_vl_text", "lasr_encoder"})
# The base is a number in the code.
FIXED_BASES = {"codegen": 10000.0, "gptj": 10000.0, "roformer": 10000.0}
# Their classes read `rotary_dim`.
ROTARY_DIM_MODELS = frozenset({"codegen", "gptj", "minimax_m2"})
# The key of the head dim, where it is another one than `head_dim`.
HEAD_DIM_KEYS = {"jetmoe": "kv_channels", "zamba2": "attention_head_dim"}
# The entries of `layer_rope_theta` are bases; elsewhere they only say whether a layer rotates.
LAYER_BASE_MODELS = frozenset({"granite_swa", "granitemoe_swa"})
# Files that offer more than the texts of training: the trained length by the offered one.
# QwenLM/Qwen3:docs/source/deployment/vllm.md@ac8c783 has both numbers, and why they differ.
TRAINED_LENGTHS: dict[str, dict[float, int]] = {
    "qwen3": {40960: 32768},
    "qwen3_moe": {40960: 32768},
}
# What a rotation of tokens by frequencies cannot say.
AXES = "it rotates by the two axes of a picture"
UNSUPPORTED_MODELS = {
    "dinov3_vit": AXES,
    "efficientloftr": AXES,
    "eomt_dinov3": AXES,
    "ernie4_5_vl_moe_text": "it hands out its frequencies to time, height and width out of order",
    "kimi_linear": "its attention does not rotate",
    "mlcd_vision_model": AXES,
    "mistral_large4_text": "its checkpoints store learned changes of the frequencies",
    "nanochat": "it rotates backwards",
    "sapiens2": AXES,
}
KNOWN_MODELS = HALF_MODELS | INTERLEAVED_MODELS | SWITCHED_MODELS | PARTIAL_MODELS | OTHER_MODELS
