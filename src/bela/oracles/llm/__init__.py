"""A language model behind any address that speaks as OpenAI's does: prompt, calls, replies, and what they cost."""

from bela.oracles.llm._client import ChatClient
from bela.oracles.llm._cost import Price, Purse
from bela.oracles.llm._oracle import LLMOracle, model_name
from bela.oracles.llm._prompt import Prompt

__all__ = ["ChatClient", "LLMOracle", "Price", "Prompt", "Purse", "model_name"]
