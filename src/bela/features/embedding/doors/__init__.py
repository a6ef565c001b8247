"""The doors to embedding models that come with BELA, each a module that adds itself to `EMBEDDINGS`."""
