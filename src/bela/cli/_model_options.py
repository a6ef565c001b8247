"""Options of commands that have a language model answer, or a helper beside the person."""

from dataclasses import dataclass
from pathlib import Path

from bela.cli._options import option
from bela.errors import ParameterError
from bela.oracles import ModelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperOptions:
    """Whatever answers too and is not believed."""

    helper: str | None = option(
        "What answers training questions without being believed: llm (a language model), a Python function, or "
        "NAME=ARGUMENT, as for --oracle. Rows drawn at random never go to it.",
        metavar="MODULE:FUNCTION",
    )
    helper_cmd: str | None = option("The same by a command, as for --oracle-cmd.", metavar="COMMAND")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The language model of `--oracle llm` or `--helper llm`; None where nothing was said."""

    llm_url: str | None = option(
        "The address of a server that speaks as OpenAI's does, such as https://api.openai.com/v1 or, on this machine, "
        "http://localhost:11434/v1.",
        metavar="URL",
    )
    llm_model: str | None = option("The name of the language model.", metavar="NAME")
    llm_guidelines: Path | None = option(
        "A text that says what the classes mean.", metavar="FILE", shown="guidelines.md of the campaign"
    )
    llm_key_env: str | None = option(
        "The environment variable that has the key; '' for no key.", metavar="NAME", shown="OPENAI_API_KEY"
    )
    llm_price: str | None = option("What a million tokens cost, in and out.", metavar="IN,OUT")
    llm_cap: float | None = option("The most that all calls together may cost.", metavar="AMOUNT")
    llm_max_tokens: int | None = option(
        "The most tokens of an answer; some models think before they answer and need more.",
        metavar="N", shown="200", between=(1, None),
    )  # fmt: skip
    llm_parallel: int | None = option("The most calls at once.", metavar="N", shown="8", between=(1, None))
    show_prompt: bool = option(
        "Show what would be sent and what that may cost, and send nothing.", "--show-prompt", default=False
    )
    allow: list[str] | None = option(
        "Let a campaign that somebody else has made send rows to the address that it names. Repeatable.", metavar="URL"
    )

    def choice(self) -> ModelChoice:
        """Return what was said, with the guidelines read."""
        return ModelChoice(
            url=self.llm_url, model=self.llm_model, guidelines=self._guidelines(), key_env=self.llm_key_env,
            price=self.llm_price, cap=self.llm_cap, max_tokens=self.llm_max_tokens, parallel=self.llm_parallel,
        )  # fmt: skip

    def _guidelines(self) -> str | None:
        if self.llm_guidelines is None:
            return None
        try:
            return self.llm_guidelines.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is no UTF-8 text"
            raise ParameterError(f"--llm-guidelines {self.llm_guidelines} cannot be read: {reason}") from None
