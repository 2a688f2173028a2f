"""Architectures that torchvision, timm and transformers define: few layers where layers repeat, the widths that people use, random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from own import Calls, Made, image
from torch import Tensor

_OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
try:
    import torchvision
except RuntimeError:  # its compiled operators are of another build of torch: its models do without, only the import asks for them
    for _name in ("nms", "qnms"):
        _OPERATORS.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision
import timm  # noqa: E402
import transformers  # noqa: E402

Maker = Callable[[int], Made]


def classic(name: str, batch: int) -> Made:
    """A classifier of torchvision."""
    return torchvision.models.get_model(name, weights=None), image(batch, 128 if batch > 1 and name != "maxvit_t" else 224)


def segmentation(batch: int) -> Made:
    """DeepLab with MobileNet, which answers by name."""
    model = torchvision.models.get_model("deeplabv3_mobilenet_v3_large", weights=None, weights_backbone=None)
    return Calls(lambda part, x: part["model"](x)["out"], model=model), image(batch, 160)


def images(name: str, batch: int) -> Made:
    """A model of timm, on an image of its own size; on several smaller ones where it takes any size, since they take long without a GPU."""
    model = timm.create_model(name, pretrained=False, exportable=True)
    fixed = batch == 1 or model.default_cfg.get("fixed_input_size")
    return model, image(batch, model.default_cfg["input_size"][-1] if fixed else 128)


TIMM = [
    "resnet50", "resnext50_32x4d", "seresnet50", "densenet121", "mobilenetv2_100", "mobilenetv3_large_100",
    "mobilenetv4_conv_small", "efficientnet_b0", "inception_v3", "convnext_tiny", "convnextv2_atto",
    "swin_tiny_patch4_window7_224", "vit_tiny_patch16_224", "deit3_small_patch16_224", "eva02_tiny_patch14_224", "mobilevit_s",
    "efficientformerv2_s0", "hrnet_w18_small", "cspdarknet53", "ghostnet_100", "regnety_002", "mixer_s32_224", "poolformer_s12",
    "edgenext_small", "coatnet_nano_rw_224", "levit_128s", "pvt_v2_b0", "xcit_nano_12_p16_224", "repvgg_a0", "dla34",
    "res2net50_26w_4s", "fastvit_t8", "botnet26t_256", "skresnet18", "lcnet_050",
]  # fmt: skip
"""Names of timm."""


def words(batch: int, length: int = 64) -> Tensor:
    """Random words."""
    return torch.randint(0, 2, (batch, length))


def _tensors(found: Any) -> tuple[Tensor, ...]:
    """The tensors of an answer, without what it keeps for the next call."""
    return tuple(value for value in found.to_tuple() if isinstance(value, Tensor))


def _configured(kind: str, **sizes: Any) -> Any:
    """A configuration of transformers."""
    return getattr(transformers, f"{kind}Config")(**sizes)


def transformer(model: str, config: str, inputs: Callable[[int], dict[str, Tensor]], batch: int, **sizes: Any) -> Made:
    """A model of transformers with inputs by name."""
    made = getattr(transformers, model)(_configured(config, **sizes))
    given = inputs(batch)

    def forward(part: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _tensors(part["model"](**dict(zip(given, tensors, strict=True)), **({"use_cache": False} if _caches(made) else {})))

    return Calls(forward, model=made), tuple(given.values())


def _caches(model: Any) -> bool:
    return bool(getattr(model.config, "use_cache", False)) and model.can_generate()


def text(batch: int) -> dict[str, Tensor]:
    """Words, and which of them count."""
    return {"input_ids": words(batch), "attention_mask": torch.ones(batch, 64, dtype=torch.int64)}


def prompt(batch: int) -> dict[str, Tensor]:
    """Words, and which of them each may see, added to the scores: as whole as that, so that the older exporter need not follow how it is made."""
    return {"input_ids": words(batch), "attention_mask": torch.full((batch, 1, 64, 64), -1e4).triu(1)}


def pair(batch: int) -> dict[str, Tensor]:
    """Words to translate, and the first words of the translation."""
    return {"input_ids": words(batch), "decoder_input_ids": words(batch, 8)}


def pixels(size: int, channels: int = 3) -> Callable[[int], dict[str, Tensor]]:
    """An image by its name."""
    return lambda batch: {"pixel_values": torch.randn(batch, channels, size, size)}


def decoding(model: str, config: str, batch: int, **sizes: Any) -> Made:
    """The next word of a text, with the keys and values of 63 words before."""
    made = getattr(transformers, model)(_configured(config, **sizes))
    settings = made.config
    heads = getattr(settings, "num_key_value_heads", None) or settings.num_attention_heads
    width = getattr(settings, "head_dim", None) or settings.hidden_size // settings.num_attention_heads
    kept = [torch.randn(batch, heads, 63, width) for _ in range(2 * settings.num_hidden_layers)]

    def forward(part: Any, word: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        cache = transformers.DynamicCache(config=settings)
        for layer in range(settings.num_hidden_layers):
            cache.update(states[2 * layer], states[2 * layer + 1], layer)
        found = part["model"](input_ids=word, past_key_values=cache, use_cache=True)
        return (found.logits, *(state for layer in found.past_key_values.layers for state in (layer.keys, layer.values)))

    return Calls(forward, model=made), (words(batch, 1), *kept)


_SMALL = {"num_hidden_layers": 2, "vocab_size": 1000}
_LLAMA = {**_SMALL, "hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16, "num_key_value_heads": 4}
_VISION = {"num_hidden_layers": 2}

TRANSFORMERS: dict[str, Maker] = {
    "bert": partial(transformer, "BertModel", "Bert", text, **_SMALL),
    "distilbert": partial(transformer, "DistilBertModel", "DistilBert", text, n_layers=2, vocab_size=1000),
    "roberta": partial(transformer, "RobertaForSequenceClassification", "Roberta", text, **_SMALL),
    "albert": partial(transformer, "AlbertModel", "Albert", text, hidden_size=768, num_attention_heads=12, intermediate_size=3072, **_SMALL),
    "deberta": partial(
        transformer, "DebertaV2Model", "DebertaV2", text, hidden_size=384, num_attention_heads=6, intermediate_size=1536,
        relative_attention=True, pos_att_type=["c2p", "p2c"], **_SMALL,
    ),
    "gpt2": partial(transformer, "GPT2LMHeadModel", "GPT2", prompt, n_layer=2, vocab_size=1000),
    "gpt2-decoding": partial(decoding, "GPT2LMHeadModel", "GPT2", n_layer=2, vocab_size=1000),
    "llama": partial(transformer, "LlamaForCausalLM", "Llama", prompt, **_LLAMA),
    "llama-decoding": partial(decoding, "LlamaForCausalLM", "Llama", **_LLAMA),
    "mistral": partial(transformer, "MistralForCausalLM", "Mistral", prompt, sliding_window=32, **_LLAMA),
    "gemma": partial(transformer, "GemmaForCausalLM", "Gemma", prompt, head_dim=128, **_LLAMA),
    "phi": partial(
        transformer, "PhiForCausalLM", "Phi", prompt, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, **_SMALL
    ),
    "qwen3": partial(transformer, "Qwen3ForCausalLM", "Qwen3", prompt, head_dim=64, **_LLAMA),
    "qwen3-decoding": partial(decoding, "Qwen3ForCausalLM", "Qwen3", head_dim=64, **_LLAMA),
    "bloom": partial(transformer, "BloomForCausalLM", "Bloom", text, hidden_size=512, n_layer=2, n_head=8, vocab_size=1000),
    "mamba": partial(transformer, "MambaModel", "Mamba", lambda batch: {"input_ids": words(batch, 8)}, hidden_size=256, **_SMALL),
    "t5": partial(
        transformer, "T5ForConditionalGeneration", "T5", pair, num_layers=2, num_decoder_layers=2, vocab_size=1000
    ),
    "bart": partial(
        transformer, "BartModel", "Bart", pair, d_model=768, encoder_layers=2, decoder_layers=2, vocab_size=1000,
        encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
    ),
    "whisper": partial(
        transformer, "WhisperModel", "Whisper",
        lambda batch: {"input_features": torch.randn(batch, 80, 400), "decoder_input_ids": words(batch, 8)},
        d_model=512, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, vocab_size=1000, max_source_positions=200, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1,
    ),
    "clip": partial(
        transformer, "CLIPModel", "CLIP",
        lambda batch: {"input_ids": words(batch, 77), "pixel_values": torch.randn(batch, 3, 224, 224)},
        text_config={"num_hidden_layers": 2, "vocab_size": 1000, "eos_token_id": 2}, vision_config={"num_hidden_layers": 2},
    ),
    "wav2vec2": partial(transformer, "Wav2Vec2Model", "Wav2Vec2", lambda batch: {"input_values": torch.randn(batch, 8000)}, **_SMALL),
    "audio-spectrogram-transformer": partial(
        transformer, "ASTModel", "AST", lambda batch: {"input_values": torch.randn(batch, 256, 128)}, max_length=256, **_VISION
    ),
    "encodec": partial(transformer, "EncodecModel", "Encodec", lambda batch: {"input_values": torch.randn(batch, 1, 2400)}),
    "vit": partial(transformer, "ViTModel", "ViT", pixels(224), **_VISION),
    "dinov2": partial(transformer, "Dinov2Model", "Dinov2", pixels(224), image_size=224, **_VISION),
    "siglip": partial(transformer, "SiglipVisionModel", "SiglipVision", pixels(224), **_VISION),
    "sam": partial(transformer, "SamVisionModel", "SamVision", pixels(256), image_size=256, global_attn_indexes=[1], **_VISION),
    "segformer": partial(transformer, "SegformerForSemanticSegmentation", "Segformer", pixels(128), depths=[1, 1, 1, 1]),
    "depth-anything": partial(
        transformer, "DPTForDepthEstimation", "DPT", pixels(224), image_size=224, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3]
    ),
    "yolos": partial(transformer, "YolosForObjectDetection", "Yolos", pixels(224), image_size=[224, 224], num_detection_tokens=20, **_VISION),
    "swin2sr": partial(
        transformer, "Swin2SRForImageSuperResolution", "Swin2SR", pixels(64), image_size=64, embed_dim=60, depths=[2, 2], num_heads=[6, 6]
    ),
}  # fmt: skip

LIBRARIES: dict[str, Maker] = {
    **{name: partial(images, name) for name in TIMM},
    **{
        name: partial(classic, name)
        for name in ("alexnet", "shufflenet_v2_x0_5", "squeezenet1_1", "mnasnet0_5", "googlenet", "maxvit_t")
    },
    "deeplabv3_mobilenet": segmentation,
    **TRANSFORMERS,
}
"""Makers by the network's name."""
