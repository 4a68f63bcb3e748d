"""Released models: what their configurations say, and their weights in the book's decoder.

rotary        frequencies, layout and factors of a model's RoPE, from its configuration
hugging_face  Llama, Qwen 3 and Gemma 3 checkpoints run by `Decoder`
"""

from attention_to_rope.checkpoints.hugging_face import load_hugging_face as load_hugging_face
from attention_to_rope.checkpoints.rotary import RotarySettings as RotarySettings
from attention_to_rope.checkpoints.rotary import rotary_settings as rotary_settings
