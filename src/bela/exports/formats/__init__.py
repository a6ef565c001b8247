"""The formats that come with BELA: each module adds its own to `bela.exports.EXPORTS`, and is found here by itself."""
