"""Models that transformers or TensorFlow cannot write: the attempts, and its error messages."""

from collections.abc import Mapping
from typing import Any

import transformers as hf

from hugging_face.generators import BERT, BLIP, IDEFICS, RAG
from hugging_face.pictures import PICTURES
from hugging_face.texts import TAPAS, TEXTS
from hugging_face.writing import Forward, Generator

# `supports_xla_generation` is False.
GRAPHS = "does not support Graph mode"
WORDS = {"input_ids": (None,), "attention_mask": (None,)}


def greedy(kind: Any, config: Any, inputs: Mapping[str, Any] = WORDS) -> Generator:
    return Generator(kind, config, {"greedy": ("all",)}, inputs)


REFUSALS: dict[str, tuple[Forward | Generator, str]] = {
    # An image's features are repeated for the beams on an axis that the decoder does not accept.
    "blip_beams": (
        Generator(
            hf.TFBlipForConditionalGeneration,
            BLIP,
            {"beam": ("all",)},
            {"pixel_values": (3, 16, 16)},
        ),
        "too many values to unpack",
    ),
    "flaubert_words": (greedy(hf.TFFlaubertWithLMHeadModel, TEXTS["flaubert"].config), GRAPHS),
    # Its positions are int64 where int32 is required.
    "idefics_words": (
        greedy(
            hf.TFIdeficsForVisionText2Text,
            IDEFICS,
            {**WORDS, "pixel_values": (1, 3, 16, 16), "image_attention_mask": (None, 1)},
        ),
        "does not match type int32",
    ),
    "led_words": (greedy(hf.TFLEDForConditionalGeneration, TEXTS["led"].config), GRAPHS),
    "openai_gpt_words": (greedy(hf.TFOpenAIGPTLMHeadModel, TEXTS["openai_gpt"].config), GRAPHS),
    # Its attention is a tuple of None, which the serving signature converts to a tensor.
    # Its attention is a tuple of None, which its `serving_output` converts to a tensor.
    "rag_served": (PICTURES["rag"]._replace(plain=False), "Failed to convert elements of (None,)"),
    # The number of documents is a loop variable, and asserted like a Python number.
    "rag_words": (
        greedy(
            hf.TFRagTokenForGeneration,
            RAG,
            {"context_input_ids": (None,), "context_attention_mask": (None,), "doc_scores": (2,)},
        ),
        "Using a symbolic",
    ),
    "rag_sequences": (
        greedy(
            hf.TFRagSequenceForGeneration,
            RAG,
            {**WORDS, "context_input_ids": (None,), "context_attention_mask": (None,)}
            | {"doc_scores": (2,)},
        ),
        "Iterating over a symbolic",
    ),
    # It has no `prepare_inputs_for_generation`.
    "roformer_words": (
        greedy(hf.TFRoFormerForCausalLM, hf.RoFormerConfig(**BERT, is_decoder=True)),
        "is not compatible with `.generate()`",
    ),
    "speech_to_text_words": (
        greedy(
            hf.TFSpeech2TextForConditionalGeneration,
            PICTURES["speech_to_text"].config,
            {"input_features": (12, 8)},
        ),
        GRAPHS,
    ),
    # Its head needs TensorFlow Probability, which is not for TensorFlow 2.21.
    "tapas_answers": (Forward(hf.TFTapasForQuestionAnswering, TAPAS), "'tfp' is not defined"),
    "transfo_xl_words": (
        greedy(hf.TFTransfoXLLMHeadModel, TEXTS["transfo_xl"].config, {"input_ids": (None,)}),
        "The first argument to `Layer.call` must always be passed",
    ),
    "xlm_words": (greedy(hf.TFXLMWithLMHeadModel, TEXTS["xlm"].config), GRAPHS),
    "xlnet_words": (greedy(hf.TFXLNetLMHeadModel, TEXTS["xlnet"].config), GRAPHS),
}
