"""The readers that come with BELA: each module adds its own to `bela.data.READERS`, and is found there by itself."""
