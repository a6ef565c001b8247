"""Texts to counts of words, of their beginnings, and of pairs of neighbouring words; or of letters in lieu of words.

All of it is done on whole blocks of texts with Arrow's kernels and NumPy: a million short texts take some seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

if TYPE_CHECKING:
    import pyarrow as pa

Longs = npt.NDArray[np.int64]

MOST_WORDS = 50_000
MOST_STEMS = 20_000
MOST_PAIRS = 50_000
FEWEST_OF_WORD = 2  # texts: a word of a single text makes it like no other
FEWEST_OF_PAIR = 3
STEM = 5  # letters: what "label", "labels" and "labelling" share; crude, but the same in many languages
PAIR_WEIGHT = 0.4  # against 1 for a word: few answers teach little about pairs, and there are many of them
FEWEST_WORDS = 2.0  # a text, on average: below, letters tell more
CHUNK = 8_192

# Scripts that are written without spaces, and symbols, emoji above all, are words by themselves.
SINGLE = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{So}])"
BETWEEN = r"[^\p{L}\p{N}\p{M}\p{So}]+"
BETWEEN_ASCII = r"[^0-9a-z ]+"


def split_words(texts: pa.Array) -> tuple[pa.Array, Longs]:
    """Return all words of the texts, one after the other, and how many each text has, an empty one counted as one."""
    import pyarrow.compute as pc

    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        texts = pc.replace_substring_regex(pc.ascii_lower(texts), BETWEEN_ASCII, " ")
    else:
        texts = pc.utf8_lower(pc.utf8_normalize(texts, "NFKC"))
        texts = pc.replace_substring_regex(texts, SINGLE, r" \1 ")
        texts = pc.replace_substring_regex(texts, BETWEEN, " ")
    words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(texts))
    return words.flatten(), np.asarray(pc.list_value_length(words).to_numpy(), np.int64)


def words_a_text(texts: pa.Array) -> float:
    """How many words a text has on average, empty texts aside."""
    import pyarrow.compute as pc

    full = texts.filter(pc.not_equal(pc.utf8_trim_whitespace(texts), ""))
    if len(full) == 0:
        return 0.0
    _, lengths = split_words(full)
    return float(lengths.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What is counted: words, their beginnings, and pairs of words; or (with `words` None) triples of bytes.

    `keys` are sorted: first * number of words + second for a pair, the bytes as one number for a triple.
    """

    words: pa.Array | None
    stems: pa.Array | None
    keys: Longs

    @property
    def n_words(self) -> int:
        """How many words and beginnings of words are counted."""
        return sum(0 if some is None else len(some) for some in (self.words, self.stems))

    @property
    def size(self) -> int:
        """How many columns the counts have: words, beginnings, pairs or triples."""
        return self.n_words + len(self.keys)

    def count(self, texts: pa.Array) -> sparse.csr_array:
        """Count what each text has of them."""
        found: list[tuple[Longs, Longs]] = []
        if self.words is None or self.stems is None:
            text, keys = _triples(texts)
        else:
            text, word, stem = _numbered(texts, self.words, self.stems)
            known, stemmed = word >= 0, stem >= 0
            found.append((text[known], word[known]))
            found.append((text[stemmed], stem[stemmed] + len(self.words)))
            text, keys = _pairs(text, word, len(self.words))
        if len(self.keys):
            place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            hit = self.keys[place] == keys
            found.append((text[hit], place[hit] + self.n_words))
        if not found:
            return sparse.csr_array((len(texts), self.size), dtype=np.float32)
        rows, columns = (np.concatenate(each).astype(np.int32) for each in zip(*found, strict=True))
        return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(texts), self.size))

    def weights(self, n_with: npt.NDArray[Any], n_texts: int) -> npt.NDArray[np.float32]:
        """Weigh what is counted by how few texts have it.

        Parameters
        ----------
        n_with
            In how many texts each is.
        n_texts
            Of how many.
        """
        weights = np.log((1 + n_texts) / (1 + n_with)).astype(np.float32)
        if self.words is not None:
            weights[self.n_words :] *= np.float32(PAIR_WEIGHT)
        return weights


def fit_vocabulary(texts: pa.Array, step: Callable[[float], object] = lambda share: None) -> Vocabulary:
    """Choose what is counted: what enough of the texts have, the most frequent first if there is too much of it.

    `step` is called with the share that is done.
    """
    if words_a_text(texts.slice(0, CHUNK)) < FEWEST_WORDS:
        keys = _frequent_keys((_triples(chunk) for chunk in chunks(texts, step)), FEWEST_OF_WORD, MOST_WORDS)
        return Vocabulary(words=None, stems=None, keys=keys)
    words, stems = _frequent_words(texts, lambda share: step(0.5 * share))
    second_half = chunks(texts, lambda share: step(0.5 + 0.5 * share))
    pairs = (_pairs(*_numbered(chunk, words, stems)[:2], len(words)) for chunk in second_half)
    return Vocabulary(words=words, stems=stems, keys=_frequent_keys(pairs, FEWEST_OF_PAIR, MOST_PAIRS))


def chunks(texts: pa.Array, step: Callable[[float], object]) -> Iterator[pa.Array]:
    """Go through the texts, some at a time."""
    for start in range(0, len(texts), CHUNK):
        step(start / len(texts))
        yield texts.slice(start, CHUNK)


def _stems(words: pa.Array) -> pa.Array:
    """The beginnings of words that are longer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    longer = pc.greater(pc.utf8_length(words), STEM)
    return pc.if_else(longer, pc.utf8_slice_codeunits(words, 0, STEM), pa.scalar(None, pa.string()))


def _numbered(texts: pa.Array, words: pa.Array, stems: pa.Array) -> tuple[Longs, Longs, Longs]:
    """For each word in turn: its text, its number, and the number of its beginning, -1 for an unknown one."""
    import pyarrow.compute as pc

    found, lengths = split_words(texts)
    coded = found.dictionary_encode()  # each word is looked up once, however often it occurs
    codes = np.asarray(coded.indices.to_numpy())
    word = pc.fill_null(pc.index_in(coded.dictionary, value_set=words), -1)
    stem = pc.fill_null(pc.index_in(_stems(coded.dictionary), value_set=stems, skip_nulls=True), -1)
    text = np.repeat(np.arange(len(texts)), lengths)
    return text, np.asarray(word.to_numpy(), np.int64)[codes], np.asarray(stem.to_numpy(), np.int64)[codes]


def _pairs(text: Longs, word: Longs, n_words: int) -> tuple[Longs, Longs]:
    """The text and the key of each pair of neighbouring words that are both known."""
    both = (text[1:] == text[:-1]) & (word[1:] >= 0) & (word[:-1] >= 0)
    return text[1:][both], (word[:-1] * n_words + word[1:])[both]


def _triples(texts: pa.Array) -> tuple[Longs, Longs]:
    """The text and the key of each three bytes in a row, a space before and after the text included."""
    import pyarrow as pa
    import pyarrow.compute as pc

    padded = pc.binary_join_element_wise("", pc.utf8_lower(pc.utf8_normalize(texts, "NFKC")), "", " ")
    lengths = np.asarray(pc.binary_length(padded).to_numpy(), np.int64)
    byte = np.frombuffer(b"".join(padded.cast(pa.binary()).to_pylist()), np.uint8).astype(np.int64)
    text = np.repeat(np.arange(len(texts)), lengths)
    inside = text[2:] == text[:-2]
    return text[2:][inside], ((byte[:-2] << 16) | (byte[1:-1] << 8) | byte[2:])[inside]


def _frequent_words(texts: pa.Array, step: Callable[[float], object]) -> tuple[pa.Array, pa.Array]:
    """The words, and the beginnings of words, that enough texts have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found, lengths = zip(*(split_words(chunk) for chunk in chunks(texts, lambda share: step(0.5 * share))), strict=True)
    coded = pa.chunked_array(found).dictionary_encode().unify_dictionaries()
    words = coded.chunk(0).dictionary
    stems = _stems(words).dictionary_encode()
    stem_of = np.asarray(pc.fill_null(stems.indices, len(stems.dictionary)).to_numpy(), np.int64)
    n_with_word = np.zeros(len(words), np.int64)
    n_with_stem = np.zeros(len(stems.dictionary) + 1, np.int64)
    for i, (chunk, length) in enumerate(zip(coded.chunks, lengths, strict=True)):
        step(0.5 + 0.5 * i / len(lengths))
        codes = np.asarray(chunk.indices.to_numpy(), np.int64)
        text = np.repeat(np.arange(len(length)), length)
        n_with_word += _texts_with(text, codes, len(n_with_word))
        n_with_stem += _texts_with(text, stem_of[codes], len(n_with_stem))
    n_with_word[np.asarray(pc.equal(words, "").to_numpy(zero_copy_only=False), np.bool_)] = 0
    words = words.take(pa.array(_most(n_with_word, FEWEST_OF_WORD, MOST_WORDS)))
    return words, stems.dictionary.take(pa.array(_most(n_with_stem[:-1], FEWEST_OF_WORD, MOST_STEMS)))


def _texts_with(text: Longs, number: Longs, n: int) -> Longs:
    """In how many texts each of n things is."""
    return np.bincount(np.unique(text * n + number) % n, minlength=n)


def _frequent_keys(found: Iterator[tuple[Longs, Longs]], fewest: int, most: int) -> Longs:
    """The keys that enough texts have, of what was found in one heap of texts after the other."""
    counted = _Counted()
    for text, key in found:
        if len(key):
            some, place = np.unique(key, return_inverse=True)
            counted.add(some, _texts_with(text, place, len(some)))
    counted.merge()
    return np.sort(counted.keys[_most(counted.counts, fewest, most)])


class _Counted:
    """Keys and their counts. New ones are merged when they are as many as the old, so that all takes n log n."""

    def __init__(self) -> None:
        self.keys: Longs = np.empty(0, np.int64)
        self.counts: Longs = np.empty(0, np.int64)
        self._new: list[tuple[Longs, Longs]] = []
        self._n_new = 0

    def add(self, keys: Longs, counts: Longs) -> None:
        self._new.append((keys, counts))
        self._n_new += len(keys)
        if self._n_new > len(self.keys):
            self.merge()

    def merge(self) -> None:
        keys = np.concatenate([self.keys, *(keys for keys, _ in self._new)])
        counts = np.concatenate([self.counts, *(counts for _, counts in self._new)])
        self.keys, place = np.unique(keys, return_inverse=True)
        self.counts = np.bincount(place, counts, minlength=len(self.keys)).astype(np.int64)
        self._new, self._n_new = [], 0


def _most(counts: Longs, fewest: int, most: int) -> Longs:
    """The places of the largest counts, largest first."""
    enough = np.flatnonzero(counts >= fewest)
    return enough[np.argsort(-counts[enough], kind="stable")[:most]]
