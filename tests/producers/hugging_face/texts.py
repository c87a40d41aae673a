"""Models of text without a generation loop: for each architecture a rich head."""

import transformers as hf

from hugging_face.drawing import SPECIAL, WORDS
from hugging_face.writing import Forward

# As documented, with the functions of their layers.
PLAIN = {
    "vocab_size": WORDS,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
}
# Widely spread weights test more than those with a standard deviation of 0.02.
ENCODER = {**PLAIN, **SPECIAL, "initializer_range": 0.3}
XLM = {
    **SPECIAL,
    "vocab_size": WORDS,
    "emb_dim": 24,
    "n_layers": 2,
    "n_heads": 3,
    "max_position_embeddings": 64,
    "pad_index": 0,
    "eos_index": 2,
    "embed_init_std": 0.3,
    "init_std": 0.3,
}
FUNNEL = hf.FunnelConfig(
    **SPECIAL,
    vocab_size=WORDS,
    block_sizes=[1, 1, 1],
    num_decoder_layers=1,
    d_model=24,
    n_head=3,
    d_head=8,
    d_inner=40,
    initializer_std=0.3,
)
DPR = hf.DPRConfig(**ENCODER)
LED = {
    f"{side}_{what}": size
    for side in ("encoder", "decoder")
    for what, size in (("layers", 2), ("attention_heads", 3), ("ffn_dim", 40))
}
TAPAS = hf.TapasConfig(
    **ENCODER,
    type_vocab_sizes=[3, 4, 4, 2, 4, 4, 3],
    max_num_rows=4,
    max_num_columns=4,
    num_aggregation_labels=3,
)
TEXTS: dict[str, Forward] = {
    "deberta": Forward(
        hf.TFDebertaModel,
        hf.DebertaConfig(
            **PLAIN,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            max_relative_positions=16,
        ),
        whole=True,
    ),
    "deberta_v2": Forward(
        hf.TFDebertaV2Model,
        hf.DebertaV2Config(
            **PLAIN,
            relative_attention=True,
            pos_att_type=["c2p", "p2c"],
            position_buckets=8,
            share_att_key=True,
            conv_kernel_size=3,
            norm_rel_ebd="layer_norm",
        ),
        whole=True,
    ),
    "layoutlm": Forward(hf.TFLayoutLMModel, hf.LayoutLMConfig(**PLAIN), whole=True),
    "bert": Forward(hf.TFBertForPreTraining, hf.BertConfig(**ENCODER), whole=True),
    "albert": Forward(
        hf.TFAlbertForPreTraining, hf.AlbertConfig(**ENCODER, embedding_size=16, inner_group_num=2)
    ),
    "bart_states": Forward(
        hf.TFBartModel,
        hf.BartConfig(
            **SPECIAL, **LED, vocab_size=WORDS, d_model=24, max_position_embeddings=64, init_std=0.3
        ),
    ),
    "camembert": Forward(hf.TFCamembertForTokenClassification, hf.CamembertConfig(**ENCODER)),
    "convbert": Forward(
        hf.TFConvBertForTokenClassification,
        hf.ConvBertConfig(
            **{**ENCODER, "num_attention_heads": 4},
            embedding_size=16,
            conv_kernel_size=3,
            num_groups=2,
        ),
    ),
    "distilbert": Forward(
        hf.TFDistilBertForQuestionAnswering,
        hf.DistilBertConfig(
            **SPECIAL,
            vocab_size=WORDS,
            max_position_embeddings=64,
            n_layers=2,
            n_heads=3,
            dim=24,
            hidden_dim=40,
            initializer_range=0.3,
        ),
    ),
    "dpr_question": Forward(hf.TFDPRQuestionEncoder, DPR),
    "dpr_context": Forward(hf.TFDPRContextEncoder, DPR),
    "dpr_reader": Forward(hf.TFDPRReader, DPR),
    "electra": Forward(hf.TFElectraForPreTraining, hf.ElectraConfig(**ENCODER, embedding_size=16)),
    "esm": Forward(
        hf.TFEsmForMaskedLM,
        hf.EsmConfig(
            **ENCODER,
            mask_token_id=5,
            position_embedding_type="rotary",
            token_dropout=True,
            emb_layer_norm_before=True,
        ),
    ),
    "flaubert": Forward(
        hf.TFFlaubertForQuestionAnsweringSimple, hf.FlaubertConfig(**XLM, pre_norm=True)
    ),
    "funnel": Forward(hf.TFFunnelForPreTraining, FUNNEL),
    "funnel_base": Forward(hf.TFFunnelForSequenceClassification, FUNNEL),
    "gpt2_choices": Forward(
        hf.TFGPT2DoubleHeadsModel,
        hf.GPT2Config(**SPECIAL, vocab_size=WORDS, n_embd=24, n_layer=2, n_head=3, n_positions=64),
        {"mc_token_ids": (None, 2)},
    ),
    "led": Forward(
        hf.TFLEDForConditionalGeneration,
        hf.LEDConfig(
            **SPECIAL,
            **LED,
            vocab_size=WORDS,
            d_model=24,
            max_encoder_position_embeddings=64,
            max_decoder_position_embeddings=64,
            attention_window=4,
            init_std=0.3,
        ),
        length=10,
    ),
    "longformer": Forward(
        hf.TFLongformerForMaskedLM,
        hf.LongformerConfig(**ENCODER, attention_window=4),
        length=10,
    ),
    "mistral_classes": Forward(
        hf.TFMistralForSequenceClassification,
        hf.MistralConfig(
            **{**ENCODER, "num_attention_heads": 4}, num_key_value_heads=2, sliding_window=4
        ),
    ),
    "mobilebert": Forward(
        hf.TFMobileBertForPreTraining,
        hf.MobileBertConfig(
            **ENCODER, embedding_size=12, intra_bottleneck_size=12, num_feedforward_networks=2
        ),
    ),
    "mpnet": Forward(hf.TFMPNetForMultipleChoice, hf.MPNetConfig(**ENCODER)),
    "openai_gpt": Forward(
        hf.TFOpenAIGPTLMHeadModel,
        hf.OpenAIGPTConfig(
            vocab_size=WORDS,
            n_embd=24,
            n_layer=2,
            n_head=3,
            n_positions=64,
            initializer_range=0.3,
            pad_token_id=0,
        ),
    ),
    "rembert": Forward(
        hf.TFRemBertForQuestionAnswering,
        hf.RemBertConfig(**ENCODER, input_embedding_size=16, output_embedding_size=20),
    ),
    "roberta": Forward(hf.TFRobertaForMultipleChoice, hf.RobertaConfig(**ENCODER)),
    "roberta_prelayernorm": Forward(
        hf.TFRobertaPreLayerNormForMaskedLM, hf.RobertaPreLayerNormConfig(**ENCODER)
    ),
    "roformer": Forward(
        hf.TFRoFormerForSequenceClassification,
        hf.RoFormerConfig(**ENCODER, embedding_size=16, rotary_value=True),
    ),
    "t5_encoder": Forward(
        hf.TFT5EncoderModel,
        hf.T5Config(
            vocab_size=WORDS, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_heads=3, pad_token_id=0
        ),
    ),
    "tapas": Forward(hf.TFTapasForMaskedLM, TAPAS),
    "transfo_xl": Forward(
        hf.TFTransfoXLLMHeadModel,
        hf.TransfoXLConfig(
            vocab_size=WORDS,
            cutoffs=[20, 40],
            d_model=24,
            d_embed=24,
            n_head=3,
            d_head=8,
            d_inner=40,
            div_val=2,
            n_layer=2,
            mem_len=8,
            clamp_len=16,
            init_std=0.3,
            pad_token_id=0,
        ),
    ),
    "xlm": Forward(
        hf.TFXLMWithLMHeadModel,
        hf.XLMConfig(**XLM, n_langs=2),
        {"langs": (None, None)},
    ),
    "xlm_roberta": Forward(
        hf.TFXLMRobertaForSequenceClassification, hf.XLMRobertaConfig(**ENCODER)
    ),
    "xlnet": Forward(
        hf.TFXLNetLMHeadModel,
        hf.XLNetConfig(
            **SPECIAL,
            vocab_size=WORDS,
            d_model=24,
            n_layer=2,
            n_head=3,
            d_inner=40,
            initializer_range=0.3,
        ),
    ),
}
