"""Models with `generate`. Random weights are spread, so that no two tokens are about as likely."""

from typing import Any

import transformers as hf

from hugging_face.drawing import SPECIAL, WORDS
from hugging_face.writing import Generator

COMMON = {**SPECIAL, "vocab_size": WORDS, "initializer_range": 0.6}
BART = {
    **COMMON,
    "d_model": 24,
    **{
        f"{side}_{what}": size
        for side in ("encoder", "decoder")
        for what, size in (("layers", 2), ("attention_heads", 3), ("ffn_dim", 40))
    },
    "max_position_embeddings": 64,
    "init_std": 0.6,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
BERT = {
    **COMMON,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
}
DECODER = {**BERT, "is_decoder": True}
PICTURE = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "image_size": 16,
    "patch_size": 4,
    "num_channels": 3,
    "initializer_range": 0.3,
}
GPT2 = {**COMMON, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 64}
T5 = {
    "vocab_size": WORDS,
    "d_model": 24,
    "d_kv": 8,
    "d_ff": 40,
    "num_layers": 2,
    "num_heads": 3,
    "decoder_start_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "initializer_factor": 2.0,
}
ANY: dict[str, tuple[str, ...]] = {
    "greedy": ("rows", "words"),
    "sampled": ("rows", "words"),
    # Beam search needs the number of rows.
    "beam": ("words",),
}
# An end-of-sequence token needs the number of rows, the cache of some models that of tokens, or
# both.
WORDS_OPEN = dict.fromkeys(ANY, ("words",))
WORDS_KNOWN = {"greedy": ("rows", "all"), "sampled": ("rows", "all"), "beam": ("all",)}
ALL_KNOWN = dict.fromkeys(ANY, ("all",))
# One signature of each kind; those whose cache needs the number of tokens have it.
EACH = {"greedy": ("words",), "sampled": ("rows",), "beam": ("words",)}
EACH_KNOWN = {"greedy": ("rows",), "sampled": ("all",), "beam": ("all",)}
# Beam search of BLIP fails in its decoder: see `refusals.py`.
GREEDY_SAMPLED = {"greedy": ("all",), "sampled": ("all",)}


def pair(kind: Any, encoder: Any, decoder: Any, **options: Any) -> Any:
    """The configuration of a model that combines two."""
    config = kind.from_encoder_decoder_configs(encoder, decoder, **options)
    for key, value in {**SPECIAL, "decoder_start_token_id": 1}.items():
        setattr(config, key, value)
    return config


BLIP = hf.BlipConfig(
    text_config={**BERT, "encoder_hidden_size": 24, "projection_dim": 16, "sep_token_id": 2},
    vision_config={**PICTURE, "projection_dim": 16},
    projection_dim=16,
    image_text_hidden_size=16,
)
IDEFICS = hf.IdeficsConfig(
    **COMMON,
    additional_vocab_size=3,
    hidden_size=24,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=3,
    qk_layer_norms=True,
    alpha_initializer="ones",
    vision_config={
        "embed_dim": 24,
        "image_size": 16,
        "intermediate_size": 40,
        "patch_size": 4,
        "num_hidden_layers": 1,
        "num_attention_heads": 3,
    },
)
RAG = hf.RagConfig.from_question_encoder_generator_configs(
    hf.DPRConfig(**BERT), hf.BartConfig(**BART), n_docs=2, **SPECIAL, decoder_start_token_id=2
)

# Models whose SavedModel is written as documented, in all sizes that they accept.
GENERATORS: dict[str, Generator] = {
    "gpt2": Generator(
        hf.TFGPT2LMHeadModel,
        hf.GPT2Config(**GPT2),
        ANY,
        whole=True,
    ),
    "opt": Generator(
        hf.TFOPTForCausalLM,
        hf.OPTConfig(
            **COMMON,
            hidden_size=24,
            num_hidden_layers=2,
            ffn_dim=40,
            num_attention_heads=3,
            max_position_embeddings=64,
            word_embed_proj_dim=24,
            init_std=0.6,
        ),
        WORDS_KNOWN,
        whole=True,
    ),
    "xglm": Generator(
        hf.TFXGLMForCausalLM,
        hf.XGLMConfig(
            **COMMON,
            d_model=24,
            num_layers=2,
            attention_heads=3,
            ffn_dim=40,
            max_position_embeddings=64,
            init_std=0.6,
        ),
        ALL_KNOWN,
        whole=True,
    ),
    "mistral": Generator(
        hf.TFMistralForCausalLM,
        hf.MistralConfig(
            **COMMON,
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            sliding_window=32,
        ),
        WORDS_KNOWN,
        whole=True,
    ),
    "t5": Generator(hf.TFT5ForConditionalGeneration, hf.T5Config(**T5), ANY, whole=True),
    "bart": Generator(
        hf.TFBartForConditionalGeneration, hf.BartConfig(**BART), WORDS_OPEN, whole=True
    ),
    "marian": Generator(
        hf.TFMarianMTModel,
        hf.MarianConfig(**BART, decoder_vocab_size=WORDS),
        WORDS_OPEN,
        whole=True,
    ),
    "whisper": Generator(
        hf.TFWhisperForConditionalGeneration,
        hf.WhisperConfig(
            **{**BART, "decoder_start_token_id": 3, "forced_eos_token_id": None},
            num_mel_bins=8,
            max_source_positions=15,
            max_target_positions=32,
            suppress_tokens=[5, 6],
            begin_suppress_tokens=[7, 2],
        ),
        ALL_KNOWN,
        {"input_features": (8, 30)},
        whole=True,
    ),
    # For those below: one signature of each kind, and no functions of the layers, which take long.
    "gpt2_ways": Generator(
        hf.TFGPT2LMHeadModel,
        hf.GPT2Config(**GPT2),
        {"penalties": ("words",)},
    ),
    "bert_words": Generator(hf.TFBertLMHeadModel, hf.BertConfig(**DECODER), EACH_KNOWN),
    "blenderbot": Generator(
        hf.TFBlenderbotForConditionalGeneration, hf.BlenderbotConfig(**BART), WORDS_OPEN
    ),
    "blenderbot_small": Generator(
        hf.TFBlenderbotSmallForConditionalGeneration, hf.BlenderbotSmallConfig(**BART), WORDS_OPEN
    ),
    "blip_caption": Generator(
        hf.TFBlipForConditionalGeneration,
        BLIP,
        GREEDY_SAMPLED,
        {"pixel_values": (3, 16, 16)},
    ),
    "blip_answer": Generator(
        hf.TFBlipForQuestionAnswering,
        BLIP,
        GREEDY_SAMPLED,
        {"input_ids": (None,), "attention_mask": (None,), "pixel_values": (3, 16, 16)},
    ),
    "camembert_words": Generator(
        hf.TFCamembertForCausalLM, hf.CamembertConfig(**DECODER), EACH_KNOWN
    ),
    "ctrl": Generator(
        hf.TFCTRLLMHeadModel,
        hf.CTRLConfig(**COMMON, n_positions=64, n_embd=24, dff=40, n_layer=2, n_head=3),
        EACH_KNOWN,
    ),
    "encoder_decoder": Generator(
        hf.TFEncoderDecoderModel,
        pair(hf.EncoderDecoderConfig, hf.BertConfig(**BERT), hf.BertConfig(**BERT)),
        WORDS_OPEN,
    ),
    "gptj": Generator(hf.TFGPTJForCausalLM, hf.GPTJConfig(**GPT2, rotary_dim=4), EACH_KNOWN),
    "mbart": Generator(hf.TFMBartForConditionalGeneration, hf.MBartConfig(**BART), WORDS_OPEN),
    "mt5": Generator(hf.TFMT5ForConditionalGeneration, hf.MT5Config(**T5), EACH),
    "pegasus": Generator(
        hf.TFPegasusForConditionalGeneration, hf.PegasusConfig(**BART), WORDS_OPEN
    ),
    "rembert_words": Generator(
        hf.TFRemBertForCausalLM,
        hf.RemBertConfig(**DECODER, input_embedding_size=16, output_embedding_size=20),
        EACH_KNOWN,
    ),
    "roberta_words": Generator(hf.TFRobertaForCausalLM, hf.RobertaConfig(**DECODER), EACH_KNOWN),
    "roberta_prelayernorm_words": Generator(
        hf.TFRobertaPreLayerNormForCausalLM, hf.RobertaPreLayerNormConfig(**DECODER), EACH_KNOWN
    ),
    "vision_encoder_decoder": Generator(
        hf.TFVisionEncoderDecoderModel,
        pair(
            hf.VisionEncoderDecoderConfig,
            hf.ViTConfig(**PICTURE),
            hf.GPT2Config(**GPT2, add_cross_attention=True),
        ),
        {**EACH, "greedy": ("all",), "beam": ("all",)},
        {"pixel_values": (3, 16, 16)},
    ),
    "xlm_roberta_words": Generator(
        hf.TFXLMRobertaForCausalLM, hf.XLMRobertaConfig(**DECODER), EACH_KNOWN
    ),
}
