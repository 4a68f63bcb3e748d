"""The Transformer of 2017, complete, in one file that needs only PyTorch. Copy it.

Vaswani et al., "Attention is all you need": an encoder that reads a source, a decoder that writes
a target, Post-Norm, sinusoidal positions, one embedding for both texts and for the output layer.

    model = Transformer(words=37_000, d=512, h=8, d_f=2048, layers=6)  # the paper's base model
    model.loss(source, target).backward()  # teacher forcing
    model.eval().generate(source, steps=50)  # greedy, with a cache

Shapes: B sequences, N target tokens, N_k source tokens, d numbers per token, h heads of d_k = d/h.
Shorter sequences of a batch end with PAD. A target begins with START and ends with END.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

PAD, START, END = range(3)
KeysValues = tuple[Tensor, Tensor]  # (B, h, tokens, d_k) each
Memory = tuple[list[KeysValues], Tensor]  # for each decoder block, and the mask of the source


def check_padding(tokens: Tensor, name: str) -> None:
    """Refuse padding before a word, which would move the word to another position."""
    padding = tokens == PAD  # (B, N)
    too_early = padding[:, :-1] & ~padding[:, 1:]  # (B, N - 1), before a word
    # A compiled graph cannot ask which numbers it gets, so there the check is left out.
    if not torch.compiler.is_compiling() and too_early.any():
        raise ValueError(
            f"{name}: expected PAD only at the end of a sequence, got it before a word"
        )


class Attention(nn.Module):
    """Multi-head attention; the caller decides from which tokens keys and values come.

    From the same tokens, it is self-attention. From the encoder's output, it is cross-attention.
    """

    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.output = nn.Linear(d, d, bias=False)

    def split(self, x: Tensor) -> Tensor:
        """One vector per token and head."""
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)  # (B, h, N, d_k)

    def project(self, x: Tensor) -> KeysValues:
        """Keys and values of tokens that can be read."""
        return self.split(self.key(x)), self.split(self.value(x))

    def forward(self, x: Tensor, read: KeysValues, mask: Tensor) -> Tensor:
        """What the tokens x, (B, N, d), collect from those that they read, where mask is true."""
        q = self.split(self.query(x))  # (B, h, N, d_k)
        k, v = read  # (B, h, tokens, d_k) each
        heads = scaled_dot_product_attention(q, k, v, attn_mask=mask)  # (B, h, N, d_k)
        joined = heads.transpose(1, 2).flatten(2)  # (B, N, d)
        return self.output(joined)  # (B, N, d)


class EncoderBlock(nn.Module):
    """Every token of the source sees all others; a norm follows each residual connection."""

    def __init__(self, d: int, h: int, d_f: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(d, h)
        self.drop = nn.Dropout(dropout)
        self.feed_forward = nn.Sequential(nn.Linear(d, d_f), nn.ReLU(), nn.Linear(d_f, d))
        self.norm_1 = nn.LayerNorm(d)
        self.norm_2 = nn.LayerNorm(d)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Attention, then the feed-forward layer."""
        read = self.attention.project(x)  # (B, h, N_k, d_k) each
        y = self.norm_1(x + self.drop(self.attention(x, read, mask)))  # (B, N_k, d)
        return self.norm_2(y + self.drop(self.feed_forward(y)))  # (B, N_k, d)


class DecoderBlock(EncoderBlock):
    """Every token of the target sees those before it, itself, and the source."""

    def __init__(self, d: int, h: int, d_f: int, dropout: float) -> None:
        super().__init__(d, h, d_f, dropout)
        self.cross = Attention(d, h)
        self.norm_3 = nn.LayerNorm(d)

    def forward(
        self, x: Tensor, mask: Tensor, memory: KeysValues, real: Tensor, past: KeysValues | None
    ) -> tuple[Tensor, KeysValues]:
        """Causal attention, cross-attention, the feed-forward layer; also all keys and values."""
        k, v = self.attention.project(x)  # (B, h, N, d_k) each
        if past is not None:  # keys and values of earlier tokens
            past_k, past_v = past
            k = torch.cat((past_k, k), dim=2)  # (B, h, cached + N, d_k)
            v = torch.cat((past_v, v), dim=2)  # (B, h, cached + N, d_k)
        # Read from the target so far, then from the source, then work on each token by itself.
        y = self.norm_1(x + self.drop(self.attention(x, (k, v), mask)))  # (B, N, d)
        z = self.norm_2(y + self.drop(self.cross(y, memory, real)))  # (B, N, d)
        return self.norm_3(z + self.drop(self.feed_forward(z))), (k, v)


class Transformer(nn.Module):
    """Two stacks of blocks; d must be even, for the positions, and a multiple of h."""

    def __init__(
        self, words: int, d: int, h: int, d_f: int, layers: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        if d % 2 != 0 or d % h != 0:
            raise ValueError(f"d: expected an even number that is a multiple of h = {h}, got {d}")
        self.d = d
        self.drop = nn.Dropout(dropout)
        self.embedding = nn.Embedding(words, d)
        self.encoder = nn.ModuleList(EncoderBlock(d, h, d_f, dropout) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderBlock(d, h, d_f, dropout) for _ in range(layers))
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)
        nn.init.normal_(self.embedding.weight, std=d**-0.5)

    def embed(self, tokens: Tensor, first: int = 0) -> Tensor:
        """Embeddings times √d, plus the sinusoids of the positions from `first` on."""
        x = self.embedding(tokens)  # (B, N, d)
        # Half precision rounds positions and angles too much: at least float32.
        exact = torch.promote_types(x.dtype, torch.float32)
        m = torch.arange(first, first + tokens.shape[1], dtype=exact, device=x.device)  # (N,)
        even = torch.arange(0, self.d, 2, dtype=exact, device=x.device)  # (d/2,)
        angles = m[:, None] / 10_000 ** (even / self.d)  # (N, d/2)
        positions = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # (N, d)
        embedded = x.to(exact) * self.d**0.5 + positions  # (B, N, d)
        return self.drop(embedded.to(x.dtype))

    def encode(self, source: Tensor) -> Memory:
        """What the decoder needs of a source: keys and values for each block, and a mask."""
        check_padding(source, "source")
        real = source != PAD  # (B, N_k)
        # A source without a word shows its padding, because a token cannot average nothing.
        empty = ~real.any(1, keepdim=True)  # (B, 1)
        mask = (real | empty)[:, None, None]  # (B, 1, 1, N_k), for all heads and tokens
        x = self.embed(source)  # (B, N_k, d)
        for block in self.encoder:
            x = block(x, mask)  # (B, N_k, d)
        # The source does not change while the target is written, so its keys and values are
        # computed here, once.
        return [block.cross.project(x) for block in self.decoder], mask

    def decode(
        self, target: Tensor, memory: Memory, caches: list[KeysValues] | None = None
    ) -> tuple[Tensor, list[KeysValues]]:
        """Logits (B, N, words) of the next tokens, and caches that include `target`."""
        cached = caches[0][0].shape[2] if caches else 0  # tokens in the caches
        N = target.shape[1]
        # Row i is the token at position cached + i, which sees that many earlier tokens and itself.
        mask = torch.ones(N, cached + N, dtype=torch.bool, device=target.device).tril(cached)
        keys_values, real = memory
        x = self.embed(target, cached)  # (B, N, d)
        longer = []
        for i, block in enumerate(self.decoder):
            past = caches[i] if caches else None
            x, cache = block(x, mask, keys_values[i], real, past)  # (B, N, d)
            longer.append(cache)
        # The logit of a word is the dot product with its own embedding.
        return x @ self.embedding.weight.T, longer  # (B, N, words)

    def loss(self, source: Tensor, target: Tensor, smoothing: float = 0.0) -> Tensor:
        """Teacher forcing in one pass; the paper sets the label smoothing to 0.1."""
        check_padding(target, "target")
        # Each token is predicted from the true tokens before it, all of them at once: the input
        # ends one token earlier, and what is to be predicted begins one token later.
        logits, _ = self.decode(target[:, :-1], self.encode(source))
        # The loss is computed in float32, also for a model in half precision.
        z = logits.to(torch.promote_types(logits.dtype, torch.float32)).mT  # (B, words, N)
        return cross_entropy(z, target[:, 1:], ignore_index=PAD, label_smoothing=smoothing)

    @torch.no_grad()
    def generate(self, source: Tensor, steps: int) -> Tensor:
        """Append the likeliest token `steps` times; after END comes only PAD."""
        memory = self.encode(source)
        caches = None
        written = torch.full_like(source[:, :1], START)  # (B, 1)
        # Only the last token is new to the decoder; the caches hold all others.
        for _ in range(steps):
            logits, caches = self.decode(written[:, -1:], memory, caches)  # (B, 1, words)
            ended = (written == END).any(1, keepdim=True)  # (B, 1)
            token = logits.argmax(-1).masked_fill(ended, PAD)  # (B, 1)
            written = torch.cat((written, token), dim=1)
        return written[:, 1:]
