"""Architectures in few lines of torch, for those that no library defines without weights: the usual layers at the usual sizes.

Each function returns a module and its inputs for a batch. Repeated stages stand once or twice, since a census counts kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

Made = tuple[nn.Module, tuple[Tensor, ...]]


class Calls(nn.Module):
    """A module of a function that calls parts by name."""

    def __init__(self, function: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleDict(parts)

    def forward(self, *inputs: Tensor) -> Any:
        """What the function makes of the parts and inputs."""
        return self.function(self.parts, *inputs)


def image(batch: int, size: int = 224, channels: int = 3) -> tuple[Tensor]:
    """A random image."""
    return (torch.randn(batch, channels, size, size),)


def vgg(batch: int) -> Made:
    """Plain convolutions, a maximum after each two, and two wide fully connected layers."""
    layers: list[nn.Module] = []
    for before, after in ((3, 64), (64, 128), (128, 256), (256, 512), (512, 512)):
        layers += [
            nn.Conv2d(before, after, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    end = [nn.Flatten(), nn.Linear(512 * 9, 1024), nn.ReLU(), nn.Dropout(), nn.Linear(1024, 1000)]
    return nn.Sequential(*layers, *end), image(batch, 96)


def squeezenet(batch: int) -> Made:
    """Fire modules: two convolutions side by side, joined; maxima that round sizes up."""

    def fire(before: int, narrow: int, wide: int) -> nn.Module:
        parts = {"s": nn.Conv2d(before, narrow, 1), "a": nn.Conv2d(narrow, wide, 1), "b": nn.Conv2d(narrow, wide, 3, padding=1)}

        def forward(part: Any, x: Tensor) -> Tensor:
            x = part["s"](x).relu()
            return torch.cat([part["a"](x).relu(), part["b"](x).relu()], 1)

        return Calls(forward, **parts)

    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    begin = [nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool, fire(64, 16, 64), fire(128, 16, 64), pool, fire(128, 32, 128)]
    return nn.Sequential(*begin, nn.Conv2d(256, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()), image(batch)


def shufflenet(batch: int) -> Made:
    """Halves of the channels, a depthwise convolution, and channels shuffled by reshaping."""

    def normal(*arguments: Any, **more: Any) -> nn.Module:
        return nn.Sequential(nn.Conv2d(*arguments, bias=False, **more), nn.BatchNorm2d(arguments[1]))

    def unit(channels: int) -> nn.Module:
        half = channels // 2
        branch = nn.Sequential(
            normal(half, half, 1), nn.ReLU(), normal(half, half, 3, 1, 1, groups=half), normal(half, half, 1), nn.ReLU()
        )

        def forward(part: Any, x: Tensor) -> Tensor:
            kept, changed = x.chunk(2, 1)
            x = torch.cat([kept, part["branch"](changed)], 1)
            n, c, h, w = x.shape
            return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)

        return Calls(forward, branch=branch)

    begin = [normal(3, 24, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), normal(24, 116, 1)]
    return nn.Sequential(*begin, unit(116), unit(116), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(116, 1000)), image(batch)


def aspp(batch: int) -> Made:
    """DeepLab's head: dilated convolutions and an image's mean side by side, then enlarged."""
    rates = nn.ModuleList([nn.Conv2d(256, 64, 3, padding=rate, dilation=rate, bias=False) for rate in (6, 12, 18)])
    end = nn.Sequential(nn.Conv2d(320, 64, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 21, 1))

    def forward(part: Any, x: Tensor) -> Tensor:
        mean = functional.interpolate(part["mean"](x.mean((2, 3), keepdim=True)), x.shape[2:], mode="bilinear", align_corners=False)
        x = part["end"](torch.cat([part["one"](x), *(rate(x) for rate in part["rates"]), mean], 1))
        return functional.interpolate(x, scale_factor=8, mode="bilinear", align_corners=False)

    return Calls(forward, one=nn.Conv2d(256, 64, 1), mean=nn.Conv2d(256, 64, 1), rates=rates, end=end), image(batch, 28, 256)


def unet(batch: int) -> Made:
    """A medical U-Net of two levels: maxima down, transposed convolutions up, joined with what was before."""

    def pair(before: int, after: int) -> nn.Module:
        first = [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        return nn.Sequential(*first, nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    def forward(part: Any, x: Tensor) -> Tensor:
        kept = part["down"](x)
        x = part["up"](part["low"](functional.max_pool2d(kept, 2)))
        return part["out"](part["last"](torch.cat([kept, x], 1))).sigmoid()

    parts = {"down": pair(1, 32), "low": pair(32, 64), "up": nn.ConvTranspose2d(64, 32, 2, 2), "last": pair(64, 32)}
    return Calls(forward, **parts, out=nn.Conv2d(32, 1, 1)), image(batch, 96, 1)


def espcn(batch: int) -> Made:
    """Super resolution by depth to space."""
    return nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2),
        nn.Tanh(),
        nn.Conv2d(64, 32, 3, padding=1),
        nn.Tanh(),
        nn.Conv2d(32, 9, 3, padding=1),
        nn.PixelShuffle(3),
    ), image(batch, 72, 1)


def edsr(batch: int) -> Made:
    """Super resolution by residual blocks without normalization, scaled by a tenth."""

    def forward(part: Any, x: Tensor) -> Tensor:
        x = part["head"](x)
        body = x
        for block in part["blocks"]:
            body = body + block(body) * 0.1
        return part["tail"](x + body)

    blocks = [nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1)) for _ in range(2)]
    tail = nn.Sequential(nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(64, 3, 3, padding=1))
    return Calls(forward, head=nn.Conv2d(3, 64, 3, padding=1), blocks=nn.ModuleList(blocks), tail=tail), image(batch, 48)


def esrgan(batch: int) -> Made:
    """Super resolution by dense blocks with leaky ReLU, enlarged to the nearest."""
    convolutions = nn.ModuleList([nn.Conv2d(64 + 32 * i, 32 if i < 4 else 64, 3, padding=1) for i in range(5)])

    def forward(part: Any, x: Tensor) -> Tensor:
        x = part["head"](x)
        seen = [x]
        for layer in part["dense"][:4]:
            seen.append(functional.leaky_relu(layer(torch.cat(seen, 1)), 0.2))
        x = x + part["dense"][4](torch.cat(seen, 1)) * 0.2
        return part["tail"](functional.leaky_relu(part["up"](functional.interpolate(x, scale_factor=2)), 0.2))

    ends = {"head": nn.Conv2d(3, 64, 3, padding=1), "up": nn.Conv2d(64, 64, 3, padding=1), "tail": nn.Conv2d(64, 3, 3, padding=1)}
    return Calls(forward, dense=convolutions, **ends), image(batch, 48)


def style_transfer(batch: int) -> Made:
    """Reflected borders, instance normalization, enlarged to the nearest."""

    def layer(before: int, after: int, size: int, stride: int = 1) -> nn.Module:
        return nn.Sequential(
            nn.ReflectionPad2d(size // 2), nn.Conv2d(before, after, size, stride), nn.InstanceNorm2d(after, affine=True)
        )

    begin = [layer(3, 32, 9), nn.ReLU(), layer(32, 64, 3, 2), nn.ReLU(), layer(64, 64, 3), nn.ReLU()]
    return nn.Sequential(*begin, nn.Upsample(scale_factor=2), layer(64, 32, 3), nn.ReLU(), layer(32, 3, 9)), image(batch, 64)


def diffusion_block(batch: int) -> Made:
    """A block of Stable Diffusion's UNet: group normalization, SiLU, the time's embedding, attention to itself and to a text, GEGLU, down and up."""
    width, heads = 320, 8

    def attend(part: Any, name: str, x: Tensor, context: Tensor) -> Tensor:
        q, k, v = part[f"{name}q"](x), part[f"{name}k"](context), part[f"{name}v"](context)
        q, k, v = (each.unflatten(2, (heads, -1)).transpose(1, 2) for each in (q, k, v))
        weights = (q @ k.transpose(2, 3) * (width // heads) ** -0.5).softmax(-1)
        return part[f"{name}o"]((weights @ v).transpose(1, 2).flatten(2))

    def forward(part: Any, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        angles = time[:, None] * part["steps"].weight
        embedding = part["time"](torch.cat([angles.cos(), angles.sin()], -1))
        hidden = part["c1"](functional.silu(part["n1"](x))) + part["t"](functional.silu(embedding))[:, :, None, None]
        x = x + part["c2"](functional.silu(part["n2"](hidden)))
        tokens = part["in"](part["n3"](x)).flatten(2).transpose(1, 2)
        normal = part["l1"](tokens)
        tokens = tokens + attend(part, "s", normal, normal)
        tokens = tokens + attend(part, "x", part["l2"](tokens), text)
        value, gate = part["f1"](part["l3"](tokens)).chunk(2, -1)
        tokens = tokens + part["f2"](value * functional.gelu(gate))
        kept = x + part["out"](tokens.transpose(1, 2).unflatten(2, x.shape[2:]))
        up = part["up"](functional.interpolate(part["down"](kept), scale_factor=2.0))
        return part["end"](torch.cat([up, kept], 1))

    parts: dict[str, nn.Module] = {f"n{i}": nn.GroupNorm(32, width) for i in (1, 2, 3)}
    parts |= {f"l{i}": nn.LayerNorm(width) for i in (1, 2, 3)} | {f"c{i}": nn.Conv2d(width, width, 3, padding=1) for i in (1, 2)}
    parts |= {
        f"{kind}{name}": nn.Linear(768 if kind == "x" and name in "kv" else width, width, name == "o")
        for kind in "sx"
        for name in "qkvo"
    }
    parts |= {"time": nn.Sequential(nn.Linear(width, 1280), nn.SiLU(), nn.Linear(1280, 1280)), "t": nn.Linear(1280, width)}
    parts |= {
        "in": nn.Conv2d(width, width, 1),
        "out": nn.Conv2d(width, width, 1),
        "f1": nn.Linear(width, 8 * width),
        "f2": nn.Linear(4 * width, width),
    }
    parts |= {
        "down": nn.Conv2d(width, width, 3, 2, 1),
        "up": nn.Conv2d(width, width, 3, padding=1),
        "end": nn.Conv2d(2 * width, 4, 3, padding=1),
    }
    parts["steps"] = nn.Embedding(1, width // 2)
    return Calls(forward, **parts), (torch.randn(batch, width, 32, 32), torch.rand(batch), torch.randn(batch, 77, 768))


def autoencoder(batch: int) -> Made:
    """The decoder of a diffusion model: group normalization, one attention over all pixels, enlarged to the nearest."""

    def forward(part: Any, x: Tensor) -> Tensor:
        x = part["in"](x)
        x = x + part["c"](functional.silu(part["n"](x)))
        tokens = part["a"](x).flatten(2).transpose(1, 2)
        x = x + functional.scaled_dot_product_attention(*(part["qkv"](tokens).chunk(3, -1))).transpose(1, 2).unflatten(
            2, x.shape[2:]
        )
        return part["out"](functional.silu(functional.interpolate(x, scale_factor=2.0))).clamp(-1, 1)

    parts = {"in": nn.Conv2d(4, 128, 3, padding=1), "c": nn.Conv2d(128, 128, 3, padding=1), "out": nn.Conv2d(128, 3, 3, padding=1)}
    return Calls(forward, **parts, n=nn.GroupNorm(32, 128), a=nn.GroupNorm(32, 128), qkv=nn.Linear(128, 384)), image(batch, 32, 4)


def vocoder(batch: int) -> Made:
    """HiFi-GAN: transposed convolutions in one dimension, dilated residual ones, leaky ReLU and tanh."""
    parts: dict[str, nn.Module] = {"in": nn.Conv1d(80, 128, 7, padding=3), "out": nn.Conv1d(32, 1, 7, padding=3)}
    parts |= {"u0": nn.ConvTranspose1d(128, 64, 16, 8, 4), "u1": nn.ConvTranspose1d(64, 32, 4, 2, 1)}
    parts |= {f"r{i}{d}": nn.Conv1d(c, c, 3, padding=d, dilation=d) for i, c in enumerate((64, 32)) for d in (1, 3, 5)}

    def forward(part: Any, x: Tensor) -> Tensor:
        x = part["in"](x)
        for i in range(2):
            x = part[f"u{i}"](functional.leaky_relu(x, 0.1))
            x = sum(x + part[f"r{i}{d}"](functional.leaky_relu(x, 0.1)) for d in (1, 3, 5)) / 3
        return part["out"](functional.leaky_relu(x)).tanh()

    return Calls(forward, **parts), (torch.randn(batch, 80, 40),)


def separation(batch: int) -> Made:
    """Conv-TasNet: a learned filter bank in one dimension, depthwise dilated convolutions, PReLU, global normalization, a mask."""
    parts: dict[str, nn.Module] = {
        "encode": nn.Conv1d(1, 256, 16, 8, bias=False),
        "decode": nn.ConvTranspose1d(256, 1, 16, 8, bias=False),
    }
    parts |= {
        "n": nn.GroupNorm(1, 256),
        "a": nn.Conv1d(256, 128, 1),
        "p": nn.PReLU(),
        "m": nn.GroupNorm(1, 128),
        "mask": nn.Conv1d(128, 512, 1),
    }
    parts |= {f"d{i}": nn.Conv1d(128, 128, 3, padding=2**i, dilation=2**i, groups=128) for i in range(3)}

    def forward(part: Any, x: Tensor) -> Tensor:
        waves = part["encode"](x).relu()
        hidden = part["a"](part["n"](waves))
        for i in range(3):
            hidden = hidden + part["m"](part["p"](part[f"d{i}"](hidden)))
        masks = part["mask"](hidden).unflatten(1, (2, 256)).sigmoid()
        return part["decode"]((waves[:, None] * masks).flatten(0, 1))

    return Calls(forward, **parts), (torch.randn(batch, 1, 1600),)


def spectrogram_classifier(batch: int) -> Made:
    """Keyword spotting: logarithm of a mel spectrogram, convolutions in two dimensions, a GRU over time."""

    def forward(part: Any, x: Tensor) -> Tensor:
        x = part["c"](torch.log(x.abs() + 1e-6).unsqueeze(1)).relu()
        x, _ = part["gru"](x.flatten(1, 2).transpose(1, 2))
        return part["out"](x[:, -1]).log_softmax(-1)

    return Calls(forward, c=nn.Conv2d(1, 16, (20, 5), (8, 2)), gru=nn.GRU(96, 64, batch_first=True), out=nn.Linear(64, 12)), (
        torch.rand(batch, 64, 61),
    )


def recurrent(kind: str, **more: Any) -> Callable[[int], Made]:
    """A recurrent network over embeddings, read at its last step."""

    def make(batch: int) -> Made:
        layer = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind](128, 256, batch_first=True, **more)
        ends = {"words": nn.Embedding(1000, 128), "out": nn.Linear(256 * (2 if more.get("bidirectional") else 1), 1000)}

        def forward(part: Any, words: Tensor) -> Tensor:
            return part["out"](part["layer"](part["words"](words))[0])

        return Calls(forward, layer=layer, **ends), (torch.randint(0, 2, (batch, 32)),)

    return make


def video(batch: int) -> Made:
    """R(3D)-18: convolutions and batch normalization in three dimensions."""

    def layer(before: int, after: int, stride: int = 1) -> nn.Module:
        return nn.Sequential(nn.Conv3d(before, after, 3, stride, 1, bias=False), nn.BatchNorm3d(after))

    def forward(part: Any, x: Tensor) -> Tensor:
        x = part["stem"](x).relu()
        x = (x + part["b"](part["a"](x).relu())).relu()
        return part["out"]((part["d"](part["c"](x).relu()) + part["side"](x)).relu().mean((2, 3, 4)))

    parts = {"a": layer(32, 32), "b": layer(32, 32), "c": layer(32, 64, 2), "d": layer(64, 64), "out": nn.Linear(64, 400)}
    stem = nn.Sequential(nn.Conv3d(3, 32, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False), nn.BatchNorm3d(32))
    side = nn.Sequential(nn.Conv3d(32, 64, 1, 2, bias=False), nn.BatchNorm3d(64))
    return Calls(forward, **parts, stem=stem, side=side), (torch.randn(batch, 3, 8, 56, 56),)


def optical_flow(batch: int) -> Made:
    """RAFT in small: all pairs of features multiplied, looked up at moved places (grid sampling), a convolutional GRU."""

    def forward(part: Any, first: Tensor, second: Tensor) -> Tensor:
        a, b = part["features"](first), part["features"](second)
        n, c, h, w = a.shape
        pairs = (a.flatten(2).transpose(1, 2) @ b.flatten(2) / c**0.5).reshape(n * h * w, 1, h, w)
        rows, columns = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        grid = torch.stack([columns, rows], -1).to(a.dtype)
        places = grid.reshape(1, h * w, 1, 1, 2).expand(n, h * w, 3, 3, 2).reshape(n * h * w, 3, 3, 2)
        seen = functional.grid_sample(pairs, places, align_corners=True).reshape(n, h * w, 9).transpose(1, 2).reshape(n, 9, h, w)
        state, x = a.tanh(), torch.cat([seen, b.relu()], 1)
        z, r = part["z"](torch.cat([state, x], 1)).sigmoid(), part["r"](torch.cat([state, x], 1)).sigmoid()
        state = (1 - z) * state + z * part["q"](torch.cat([r * state, x], 1)).tanh()
        flow = part["flow"](state)
        return functional.grid_sample(
            second, (grid + functional.interpolate(flow, (h, w)).permute(0, 2, 3, 1)), align_corners=False
        )

    features = nn.Sequential(nn.Conv2d(3, 32, 7, 4, 3), nn.InstanceNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1))
    gates = {name: nn.Conv2d(73, 32, 3, padding=1) for name in "zrq"}
    return Calls(forward, features=features, **gates, flow=nn.Conv2d(32, 2, 3, padding=1)), image(batch, 128) * 2


def yolo_head(batch: int) -> Made:
    """YOLO's neck and head at two scales: enlarged and joined, SiLU, boxes decoded, the best hundred taken."""

    def layer(before: int, after: int, size: int = 3, stride: int = 1) -> nn.Module:
        return nn.Sequential(nn.Conv2d(before, after, size, stride, size // 2, bias=False), nn.BatchNorm2d(after), nn.SiLU())

    def forward(part: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        high = part["a"](x)
        low = part["spp"](part["b"](high))
        low = torch.cat([low, *(functional.max_pool2d(low, size, 1, size // 2) for size in (5, 9, 13))], 1)
        low = part["c"](low)
        high = part["d"](torch.cat([functional.interpolate(low, scale_factor=2.0), high], 1))
        found = torch.cat([part["h"](each).flatten(2) for each in (high, low)], 2)
        place, size, scores = found.split([2, 2, 80], 1)
        boxes = torch.cat([place.sigmoid() * 2 - 0.5, (size.sigmoid() * 2) ** 2], 1)
        best, which = scores.sigmoid().amax(1).topk(100, -1)
        return boxes.gather(2, which[:, None].expand(-1, 4, -1)), best, scores.argmax(1)

    parts = {"a": layer(3, 64, 7, 8), "b": layer(64, 128, 3, 2), "spp": layer(128, 64, 1), "c": layer(256, 64, 1)}
    return Calls(forward, **parts, d=layer(128, 64), h=nn.Conv2d(64, 84, 1)), image(batch, 160)


def pyramid(batch: int) -> Made:
    """The feature pyramid of Faster and Mask R-CNN: sides by 1x1, enlarged sums, anchors' scores and boxes with exp."""

    def forward(part: Any, x: Tensor) -> tuple[Tensor, ...]:
        c3 = part["c3"](x).relu()
        c4 = part["c4"](c3).relu()
        p4 = part["s4"](c4)
        p3 = part["s3"](c3) + functional.interpolate(p4, c3.shape[2:])
        p5 = functional.max_pool2d(p4, 1, 2)
        found = []
        for level in (part["o3"](p3), p4, p5):
            hidden = part["rpn"](level).relu()
            moved = part["box"](hidden).flatten(2).transpose(1, 2).unflatten(2, (3, 4)).flatten(1, 2)
            found += [part["score"](hidden).flatten(1), moved[..., 2:].clamp(max=4.135).exp()]
        return tuple(found)

    parts = {
        "c3": nn.Conv2d(3, 64, 7, 8, 3),
        "c4": nn.Conv2d(64, 128, 3, 2, 1),
        "s3": nn.Conv2d(64, 128, 1),
        "s4": nn.Conv2d(128, 128, 1),
    }
    heads = {"rpn": nn.Conv2d(128, 128, 3, padding=1), "score": nn.Conv2d(128, 3, 1), "box": nn.Conv2d(128, 12, 1)}
    return Calls(forward, **parts, o3=nn.Conv2d(128, 128, 3, padding=1), **heads), image(batch, 160)


def recommendation(batch: int) -> Made:
    """DLRM: embeddings of categories, their products with each other, and a tower."""

    def forward(part: Any, numbers: Tensor, categories: Tensor) -> Tensor:
        features = torch.cat([part["bottom"](numbers)[:, None], part["words"](categories)], 1)
        products = (features @ features.transpose(1, 2)).flatten(1)
        return part["top"](torch.cat([products, part["bottom"](numbers)], 1)).sigmoid()

    bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
    top = nn.Sequential(nn.Linear(27 * 27 + 32, 64), nn.ReLU(), nn.Linear(64, 1))
    return Calls(forward, bottom=bottom, top=top, words=nn.Embedding(100, 32)), (
        torch.randn(batch, 13),
        torch.randint(0, 2, (batch, 26)),
    )


def gan(batch: int) -> Made:
    """DCGAN's generator: transposed convolutions from one pixel."""
    layers: list[nn.Module] = []
    for before, after, stride, padding in ((100, 256, 1, 0), (256, 128, 2, 1), (128, 64, 2, 1)):
        layers += [nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()), image(batch, 1, 100)


OWN: dict[str, Callable[[int], Made]] = {
    "vgg": vgg, "squeezenet": squeezenet, "shufflenet": shufflenet, "deeplab-head": aspp, "unet": unet, "espcn": espcn, "edsr": edsr,
    "esrgan": esrgan, "style-transfer": style_transfer, "diffusion-unet-block": diffusion_block, "diffusion-decoder": autoencoder,
    "hifigan": vocoder, "conv-tasnet": separation, "keyword-gru": spectrogram_classifier, "lstm": recurrent("lstm"),
    "lstm-bidirectional": recurrent("lstm", bidirectional=True, num_layers=2), "gru": recurrent("gru"), "rnn": recurrent("rnn"),
    "r3d": video, "raft": optical_flow, "yolo-head": yolo_head, "rcnn-pyramid": pyramid, "dlrm": recommendation, "dcgan": gan,
}  # fmt: skip
"""Makers by the network's name."""
