"""The oracles that come with BELA: each module adds its own to `bela.oracles.ORACLES`, and is found here by itself."""
