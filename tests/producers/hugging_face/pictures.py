"""Models of images, of audio, and of images with text, without a generation loop."""

import transformers as hf

from hugging_face.drawing import SPECIAL, WORDS
from hugging_face.generators import BLIP, IDEFICS, PICTURE, RAG
from hugging_face.texts import ENCODER
from hugging_face.writing import Forward

MOBILE = {
    "patch_size": 2,
    "hidden_sizes": [24, 32, 40],
    "neck_hidden_sizes": [8, 12, 16, 20, 24, 28, 32],
    "mlp_ratio": 2.0,
    "expand_ratio": 2.0,
    "aspp_out_channels": 16,
}
STAGES = {"hidden_sizes": [8, 12, 16, 24], "depths": [1, 1, 2, 1], "image_size": 32}
TOWER = {key: value for key, value in ENCODER.items() if key != "initializer_range"}
PICTURE_TOWER = {key: value for key, value in PICTURE.items() if key != "initializer_range"}
SOUND = {
    "vocab_size": 32,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "conv_dim": (16, 16, 16),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "initializer_range": 0.3,
}
PICTURES: dict[str, Forward] = {
    "mobilevit": Forward(
        hf.TFMobileViTModel, hf.MobileViTConfig(image_size=64, **MOBILE), whole=True
    ),
    # Its features are resized, since patches do not divide them.
    "mobilevit_odd": Forward(
        hf.TFMobileViTForSemanticSegmentation,
        hf.MobileViTConfig(image_size=80, **MOBILE),
        whole=True,
    ),
    "vit": Forward(hf.TFViTForImageClassification, hf.ViTConfig(**PICTURE)),
    "convnext": Forward(
        hf.TFConvNextForImageClassification, hf.ConvNextConfig(**STAGES, initializer_range=0.3)
    ),
    "convnextv2": Forward(
        hf.TFConvNextV2ForImageClassification, hf.ConvNextV2Config(**STAGES, initializer_range=0.3)
    ),
    "cvt": Forward(
        hf.TFCvtForImageClassification,
        hf.CvtConfig(embed_dim=[8, 16, 24], num_heads=[1, 2, 3], depth=[1, 2, 3], image_size=32),
    ),
    "data2vec_segments": Forward(
        hf.TFData2VecVisionForSemanticSegmentation,
        hf.Data2VecVisionConfig(
            **{**PICTURE, "num_hidden_layers": 4, "image_size": 32, "patch_size": 8},
            out_indices=[1, 2, 3, 4],
            pool_scales=[1, 2],
            auxiliary_channels=8,
            use_relative_position_bias=True,
        ),
    ),
    "data2vec_vision": Forward(
        hf.TFData2VecVisionForImageClassification,
        hf.Data2VecVisionConfig(
            **PICTURE, use_shared_relative_position_bias=True, use_absolute_position_embeddings=True
        ),
    ),
    "deit": Forward(hf.TFDeiTForImageClassificationWithTeacher, hf.DeiTConfig(**PICTURE)),
    "deit_masked": Forward(
        hf.TFDeiTForMaskedImageModeling, hf.DeiTConfig(**PICTURE, encoder_stride=4)
    ),
    "efficientformer": Forward(
        hf.TFEfficientFormerForImageClassificationWithTeacher,
        hf.EfficientFormerConfig(
            hidden_sizes=[8, 12, 16, 24],
            depths=[1, 1, 1, 2],
            dim=24,
            key_dim=8,
            attention_ratio=2,
            num_attention_heads=2,
            resolution=2,
            image_size=64,
        ),
    ),
    "regnet": Forward(
        hf.TFRegNetForImageClassification,
        hf.RegNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], groups_width=4),
    ),
    "resnet": Forward(
        hf.TFResNetForImageClassification,
        hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2]),
    ),
    "sam": Forward(
        hf.TFSamModel,
        hf.SamConfig(
            vision_config=dict(
                PICTURE,
                image_size=32,
                output_channels=16,
                num_pos_feats=8,
                window_size=3,
                global_attn_indexes=[1],
            ),
            prompt_encoder_config={
                "hidden_size": 16,
                "image_size": 32,
                "patch_size": 4,
                "mask_input_channels": 4,
            },
            mask_decoder_config={
                "hidden_size": 16,
                "mlp_dim": 24,
                "num_attention_heads": 2,
                "iou_head_hidden_dim": 16,
            },
        ),
        {"input_points": (None, 1, 2, 2), "input_labels": (None, 1, 2)},
    ),
    "segformer": Forward(
        hf.TFSegformerForSemanticSegmentation,
        hf.SegformerConfig(
            hidden_sizes=[8, 16, 24, 32],
            depths=[1, 1, 1, 1],
            num_attention_heads=[1, 2, 3, 4],
            mlp_ratios=[2, 2, 2, 2],
            decoder_hidden_size=16,
        ),
        {"pixel_values": (None, 3, 64, 64)},
    ),
    "swiftformer": Forward(
        hf.TFSwiftFormerForImageClassification,
        hf.SwiftFormerConfig(image_size=64, embed_dims=[8, 12, 16, 24], depths=[1, 1, 2, 1]),
    ),
    "swin": Forward(
        hf.TFSwinForImageClassification,
        hf.SwinConfig(
            image_size=32,
            patch_size=2,
            window_size=4,
            embed_dim=12,
            depths=[2, 2],
            num_heads=[2, 3],
            initializer_range=0.3,
        ),
    ),
    # The mask is random unless the noise is given.
    "vit_mae": Forward(
        hf.TFViTMAEForPreTraining,
        hf.ViTMAEConfig(
            **PICTURE,
            decoder_num_attention_heads=2,
            decoder_hidden_size=16,
            decoder_num_hidden_layers=1,
            decoder_intermediate_size=24,
        ),
        {"noise": (None, 16)},
    ),
    "hubert": Forward(
        hf.TFHubertForCTC,
        hf.HubertConfig(**SOUND, conv_stride=(10, 8, 4), conv_kernel=(10, 8, 4)),
        {"attention_mask": (None, 16000)},
        length=16000,
    ),
    "wav2vec2": Forward(
        hf.TFWav2Vec2ForCTC,
        hf.Wav2Vec2Config(
            **SOUND,
            conv_stride=(5, 2, 2),
            conv_kernel=(10, 3, 2),
            feat_extract_norm="layer",
            do_stable_layer_norm=True,
        ),
        length=800,
    ),
    "wav2vec2_classes": Forward(
        hf.TFWav2Vec2ForSequenceClassification,
        hf.Wav2Vec2Config(
            **SOUND,
            conv_stride=(5, 2, 2),
            conv_kernel=(10, 3, 2),
            use_weighted_layer_sum=True,
            classifier_proj_size=16,
        ),
        length=800,
    ),
    "speech_to_text": Forward(
        hf.TFSpeech2TextForConditionalGeneration,
        hf.Speech2TextConfig(
            **SPECIAL,
            vocab_size=WORDS,
            d_model=24,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=3,
            decoder_attention_heads=3,
            encoder_ffn_dim=40,
            decoder_ffn_dim=40,
            conv_channels=16,
            use_cache=False,  # its two caches have different lengths, which cannot be one output
            input_feat_per_channel=8,
            max_source_positions=64,
            max_target_positions=64,
            init_std=0.3,
        ),
        length=12,
    ),
    "blip": Forward(hf.TFBlipModel, BLIP),
    "blip_match": Forward(hf.TFBlipForImageTextRetrieval, BLIP),
    "clip": Forward(
        hf.TFCLIPModel,
        hf.CLIPConfig(text_config=TOWER, vision_config=PICTURE_TOWER, projection_dim=16),
    ),
    "groupvit": Forward(
        hf.TFGroupViTModel,
        hf.GroupViTConfig(
            text_config=TOWER,
            vision_config=dict(
                PICTURE_TOWER,
                depths=[1, 1, 1],
                num_group_tokens=[6, 3, 0],
                num_output_groups=[6, 3, 3],
            ),
            projection_dim=16,
            projection_intermediate_dim=32,
        ),
    ),
    "idefics_states": Forward(
        hf.TFIdeficsModel,
        IDEFICS,
        # Its rotary embeddings need the number of tokens.
        {
            "input_ids": (None, 7),
            "attention_mask": (None, 7),
            "pixel_values": (None, 1, 3, 16, 16),
            "image_attention_mask": (None, 7, 1),
        },
    ),
    "layoutlmv3": Forward(
        hf.TFLayoutLMv3ForTokenClassification,
        hf.LayoutLMv3Config(
            **ENCODER,
            max_2d_position_embeddings=1001,
            coordinate_size=4,
            shape_size=4,
            input_size=16,
            patch_size=4,
            rel_pos_bins=8,
            max_rel_pos=16,
            rel_2d_pos_bins=8,
            max_rel_2d_pos=32,
        ),
    ),
    "lxmert": Forward(
        hf.TFLxmertForPreTraining,
        hf.LxmertConfig(
            **{key: value for key, value in ENCODER.items() if key != "num_hidden_layers"},
            l_layers=1,
            x_layers=1,
            r_layers=1,
            visual_feat_dim=12,
            num_qa_labels=11,
            num_object_labels=13,
            num_attr_labels=5,
        ),
    ),
    "rag": Forward(
        hf.TFRagTokenForGeneration,
        RAG,
        {
            "input_ids": (2, None),
            "attention_mask": (2, None),
            "context_input_ids": (4, None),
            "context_attention_mask": (4, None),
            "doc_scores": (2, 2),
            "decoder_input_ids": (2, None),
            "decoder_attention_mask": (2, None),
        },
        plain=True,
    ),
    "vision_text_dual_encoder": Forward(
        hf.TFVisionTextDualEncoderModel,
        hf.VisionTextDualEncoderConfig.from_vision_text_configs(
            hf.ViTConfig(**PICTURE), hf.BertConfig(**ENCODER), projection_dim=16
        ),
    ),
}
