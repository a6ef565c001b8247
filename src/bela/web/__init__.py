"""The labelling page: a server for a campaign, and the page that it shows."""

from bela.web._identity import TrustedProxy, trust_proxy
from bela.web._models import AnswerIn, QuestionOut
from bela.web._serve import LOOPBACK, create_app, serve
from bela.web._service import LabelService

__all__ = ["LOOPBACK", "AnswerIn", "LabelService", "QuestionOut", "TrustedProxy", "create_app", "serve", "trust_proxy"]
