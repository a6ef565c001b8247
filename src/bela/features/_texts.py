"""Texts to features: weights of words for linear models, and their leading directions for distances.

What is counted are words, their beginnings, and pairs of neighbouring words; or letters in lieu of words. The weights
are TF-IDF; the directions are those of latent semantic analysis, found on a sample of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from bela.features._arrow import as_texts, stack, taken
from bela.features._parts import Part, Step
from bela.features._scaling import Doubles, Prepared, Size, rarity, unit_directions, weighed

Longs = npt.NDArray[np.int64]

SAMPLE_ROWS = 200_000  # a word that is not among so many texts twice tells little about the rest
SAMPLE_BYTES = 64 << 20
DIRECTION_ROWS = 40_000
_WORDS, _COUNTS = 0.5, 0.2  # shares of the time; directions take the rest
MOST_WORDS, MOST_STEMS, MOST_PAIRS = 50_000, 20_000, 50_000
FEWEST_OF_WORD, FEWEST_OF_PAIR = 2, 3  # texts: a word of a single text makes it like no other
STEM = 5  # letters: what "label", "labels" and "labelling" share; crude, but the same in many languages
PAIR_WEIGHT = 0.4  # against 1 for a word: few answers teach little about pairs, and there are many of them
FEWEST_WORDS = 2.0  # a text, on average: below, letters tell more
CHUNK = 8_192

# Scripts that are written without spaces, and symbols, emoji above all, are words by themselves.
SINGLE = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{So}])"
BETWEEN, BETWEEN_ASCII = r"[^\p{L}\p{N}\p{M}\p{So}]+", r"[^0-9a-z ]+"


class TextSample:
    """Collects a random sample of rows that is limited in rows and in bytes, as the rows stream by."""

    def __init__(self, columns: tuple[str, ...], n_rows: int, seed: int) -> None:
        self.columns, self.seed = columns, seed
        self._share = min(1.0, SAMPLE_ROWS / n_rows)
        self._batches, self._priorities, self._bytes = list[pa.RecordBatch](), list[Doubles](), 0

    def pick(self, start: int, block: pa.RecordBatch) -> tuple[pa.RecordBatch, Doubles]:
        """Return the rows of a block whose priority is high enough so far: that of a row follows from its number."""
        texts = [as_texts(block.column(name)) for name in self.columns]
        bits = np.random.PCG64([self.seed, 1])
        bits.advance(start)
        return _thinned(
            pa.RecordBatch.from_arrays(texts, names=list(self.columns)),
            np.random.Generator(bits).random(block.num_rows), self._share,
        )  # fmt: skip

    def add(self, picked: tuple[pa.RecordBatch, Doubles], start: int) -> None:
        """Take some rows of the next block."""
        batch, priorities = _thinned(*picked, self._share)
        self._batches.append(batch)
        self._priorities.append(priorities)
        self._bytes += self._batches[-1].nbytes
        while self._bytes > SAMPLE_BYTES * len(self.columns):
            self._share /= 2
            for i, pair in enumerate(zip(self._batches, self._priorities, strict=True)):
                self._batches[i], self._priorities[i] = _thinned(*pair, self._share)
            self._bytes = sum(batch.nbytes for batch in self._batches)

    def fit(self, size: Size, step: Step) -> list[Part]:
        """Learn from the sample, column by column."""
        sample, parts = stack(self._batches), list[Part]()
        for i, name in enumerate(self.columns):

            def found(share: float, i: int = i, name: str = name) -> None:
                step(f"finding words in {name!r}", (i + share) / len(self.columns))

            parts.append(_fit_texts(name, sample.column(name), size.n_components, self.seed, found))
        return parts


def _thinned(batch: pa.RecordBatch, priorities: Doubles, share: float) -> tuple[pa.RecordBatch, Doubles]:
    """Leave out the rows whose priority is too low by now."""
    kept = np.flatnonzero(priorities < share)
    if len(kept) < len(priorities):
        return taken(batch, 0, kept), priorities[kept]
    return batch, priorities


def _fit_texts(name: str, texts: pa.Array, n_components: int, seed: int, step: Callable[[float], object]) -> Part:
    """Learn words, weights and directions from a sample of texts; `step` is called with the share that is done."""
    from sklearn.utils.extmath import randomized_svd

    vocabulary = fit_vocabulary(texts, lambda share: step(_WORDS * share))
    some = chunks(texts, lambda share: step(_WORDS + _COUNTS * share))
    counts = sparse.vstack([vocabulary.count(chunk) for chunk in some], format="csr")
    step(_WORDS + _COUNTS)
    weights = rarity(counts)
    if vocabulary.words is not None:
        weights[vocabulary.n_words :] *= np.float32(PAIR_WEIGHT)
    if len(texts) > DIRECTION_ROWS:
        counts = counts[np.sort(np.random.default_rng(seed).choice(len(texts), DIRECTION_ROWS, replace=False))]
    X = weighed(counts, weights)
    n = min(n_components, min(X.shape) - 1)
    if n < 1 or X.nnz == 0:
        directions = np.eye(vocabulary.size, max(1, min(n_components, vocabulary.size)), dtype=np.float32)
    else:
        directions = np.ascontiguousarray(randomized_svd(X, n, random_state=seed, n_iter=4)[2].T, np.float32)

    def transform(block: pa.RecordBatch, _: range) -> Prepared:
        linear = weighed(vocabulary.count(as_texts(block.column(name))), weights)
        return Prepared(dense=unit_directions(np.asarray(linear @ directions, np.float32)), linear=linear)

    return Part(transform=transform)


def split_words(texts: pa.Array) -> tuple[pa.Array, Longs]:
    """Return all words of the texts, one after the other, and how many each text has, an empty one counted as one."""
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
    full = texts.filter(pc.not_equal(pc.utf8_trim_whitespace(texts), ""))
    return float(split_words(full)[1].mean()) if len(full) else 0.0


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
            found += [(text[known], word[known]), (text[stemmed], stem[stemmed] + len(self.words))]
            text, keys = _pairs(text, word, len(self.words))
        if len(self.keys):
            place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            hit = self.keys[place] == keys
            found.append((text[hit], place[hit] + self.n_words))
        if not found:
            return sparse.csr_array((len(texts), self.size), dtype=np.float32)
        rows, columns = (np.concatenate(each).astype(np.int32) for each in zip(*found, strict=True))
        return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(texts), self.size))


def fit_vocabulary(texts: pa.Array, step: Callable[[float], object] = lambda share: None) -> Vocabulary:
    """Choose what is counted: what enough of the texts have, the most frequent first if there is too much of it."""
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
    longer = pc.greater(pc.utf8_length(words), STEM)
    return pc.if_else(longer, pc.utf8_slice_codeunits(words, 0, STEM), pa.scalar(None, pa.string()))


def _numbered(texts: pa.Array, words: pa.Array, stems: pa.Array) -> tuple[Longs, Longs, Longs]:
    """For each word in turn: its text, its number, and the number of its beginning, -1 for an unknown one."""
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
    padded = pc.binary_join_element_wise("", pc.utf8_lower(pc.utf8_normalize(texts, "NFKC")), "", " ")
    lengths = np.asarray(pc.binary_length(padded).to_numpy(), np.int64)
    byte = np.frombuffer(b"".join(padded.cast(pa.binary()).to_pylist()), np.uint8).astype(np.int64)
    text = np.repeat(np.arange(len(texts)), lengths)
    inside = text[2:] == text[:-2]
    return text[2:][inside], ((byte[:-2] << 16) | (byte[1:-1] << 8) | byte[2:])[inside]


def _frequent_words(texts: pa.Array, step: Callable[[float], object]) -> tuple[pa.Array, pa.Array]:
    """The words, and the beginnings of words, that enough texts have."""
    found, lengths = zip(*(split_words(chunk) for chunk in chunks(texts, lambda share: step(0.5 * share))), strict=True)
    coded = pa.chunked_array(found).dictionary_encode().unify_dictionaries()
    words = coded.chunk(0).dictionary
    stems = _stems(words).dictionary_encode()
    stem_of = np.asarray(pc.fill_null(stems.indices, len(stems.dictionary)).to_numpy(), np.int64)
    n_with_word, n_with_stem = (np.zeros(n, np.int64) for n in (len(words), len(stems.dictionary) + 1))
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
    keys, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for text, key in found:
        if len(key):
            some, place = np.unique(key, return_inverse=True)
            keys.append(some)
            counts.append(_texts_with(text, place, len(some)))
    every, place = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.bincount(place, np.concatenate(counts), minlength=len(every)).astype(np.int64)
    return np.sort(every[_most(total, fewest, most)])


def _most(counts: Longs, fewest: int, most: int) -> Longs:
    """The places of the largest counts, largest first."""
    enough = np.flatnonzero(counts >= fewest)
    return enough[np.argsort(-counts[enough], kind="stable")[:most]]
