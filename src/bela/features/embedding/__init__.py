"""Models that turn texts and images into vectors.

The ways to have one are in `EMBEDDINGS`. Another package adds one by an entry point of the group `bela.embeddings` that
names an `EmbeddingDoor`; one that comes with BELA is a module in `bela.features.embedding.doors`.
"""

from bela.features.embedding._choice import EMBEDDED, Embed, agrees, choose_embeddings
from bela.features.embedding._doors import EMBEDDINGS, Embedding
from bela.features.embedding._embed import Reading, door_of

__all__ = ["EMBEDDED", "EMBEDDINGS", "Embed", "Embedding", "Reading", "agrees", "choose_embeddings", "door_of"]
