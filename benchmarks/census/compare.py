"""Compares the spec's census with one that was traced: ``python benchmarks/census/compare.py TRACED.json``.

A traced census says ``{"operators": {NAME: [{"dt": type, "n": count, "models": [network...]}...]}}``: what somebody thinks that networks dispatch. Printed is,
for each network that both have, which operators one of them has alone; and how often that is so for each operator.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from dmlcts.spec.reading.document import read
from dmlcts.spec.reading.loader import measured_folder
from dmlcts.spec.reading.measured import checked_census

BOTH = {
    "bert": "bert-base", "clip": "clip", "convnext_tiny": "convnext_tiny", "convnextv2_atto": "convnextv2_tiny", "cspdarknet53": "cspdarknet53",
    "densenet121": "densenet121", "distilbert": "distilbert", "depth-anything": "dpt", "efficientformerv2_s0": "efficientformerv2_s0",
    "efficientnet_b0": "efficientnet_b0", "espcn": "espcn", "gpt2": "gpt2", "hifigan": "hifigan", "hrnet_w18_small": "hrnet_w18_small",
    "inception_v3": "inception_v3", "llama": "llama3-8b s128", "llama-decoding": "llama3-8b s1", "mistral": "mistral-7b s128",
    "gemma": "gemma s128", "phi": "phi s128", "mamba": "mamba", "mobilenetv2_100": "mobilenet_v2", "mobilenetv3_large_100": "mobilenet_v3_large",
    "mobilevit_s": "mobilevit_s", "resnet50": "resnet50", "resnext50_32x4d": "resnext50_32x4d", "segformer": "segformer-b0",
    "shufflenet_v2_x0_5": "shufflenet_v2_x1_0", "squeezenet1_1": "squeezenet1_1", "swin2sr": "swin2sr", "swin_tiny_patch4_window7_224": "swin_t",
    "t5": "t5-small", "vit": "vit_b_16", "wav2vec2": "wav2vec2-base", "whisper": "whisper-base", "yolos": "yolos-tiny", "vgg": "vgg16",
    "style-transfer": "style transfer", "raft": "raft_small", "r3d": "r3d_18", "gru": "text gru 256", "diffusion-unet-block": "sd15-unet",
}  # fmt: skip
"""Networks that both have, as each calls them."""


def captured() -> dict[str, set[str]]:
    """The operators that each network of the spec's census dispatches, fused ones as well."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted((measured_folder() / "census").glob("*.yaml")):
        data = checked_census(read(file), file).data
        for kind in data["kinds"]:
            fused = {value["Type"] for value in kind["desc"].values() if isinstance(value, dict) and "Type" in value}
            for network in kind["networks"]:
                found[network] |= {data["operator"], *fused}
    return found


def traced(file: Path) -> dict[str, set[str]]:
    """The operators that each network of a traced census dispatches."""
    found: dict[str, set[str]] = defaultdict(set)
    for operator, entries in json.loads(file.read_text(encoding="utf-8"))["operators"].items():
        for entry in entries:
            for network in entry["models"]:
                found[network].add(operator)
    return found


def main(file: Path) -> None:
    """Prints the comparison."""
    ours, theirs = captured(), traced(file)
    pairs = {name: other for name, other in BOTH.items() if name in ours and other in theirs}
    captured_alone, traced_alone = Counter[str](), Counter[str]()
    for name, other in pairs.items():
        more, less = ours[name] - theirs[other], theirs[other] - ours[name]
        captured_alone.update(more)
        traced_alone.update(less)
        print(f"{name}: captured alone: {', '.join(sorted(more)) or 'none'}; traced alone: {', '.join(sorted(less)) or 'none'}")
    print(f"{len(pairs)} networks; operators that are in a network")
    for what, counts in (("captured alone", captured_alone), ("traced alone", traced_alone)):
        print(f"  {what}: {', '.join(f'{operator} {count}' for operator, count in counts.most_common())}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
