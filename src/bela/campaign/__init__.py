"""The labelling of one dataset, from the first question to the export."""

from bela.campaign._advice import other_ways
from bela.campaign._again import Repeats
from bela.campaign._audit import AuditResult, Mistake, Verdict, audit_result, audited_label, begin_audit, certify
from bela.campaign._backup import Backup, back_up, restore
from bela.campaign._campaign import Campaign
from bela.campaign._carry_over import n_carried
from bela.campaign._folder import StoredCampaign, create_campaign, is_open, open_campaign
from bela.campaign._inputs import column_texts, read_prediction
from bela.campaign._predict import predict_new
from bela.campaign._predicted import Predictions, find_predictions, plain_name, read_brought, read_predictions
from bela.campaign._progress import SCANNING, LogPlace
from bela.campaign._run import Simulation, label, run_campaign, simulate, step
from bela.campaign._settings import SETTINGS, Settings, columns_apart, groups_now, read_settings
from bela.campaign._team import Member, Team, clean_name
from bela.campaign._verify import Verification, Verifier

__all__ = [
    "SCANNING", "SETTINGS", "AuditResult", "Backup", "Campaign", "LogPlace", "Member", "Mistake", "Predictions",
    "Repeats", "Settings", "Simulation", "StoredCampaign", "Team", "Verdict", "Verification", "Verifier",
    "audit_result", "audited_label", "back_up", "begin_audit", "certify", "clean_name", "column_texts",
    "columns_apart", "create_campaign", "find_predictions", "groups_now", "is_open", "label", "n_carried",
    "open_campaign", "other_ways", "plain_name", "predict_new", "read_brought", "read_prediction", "read_predictions",
    "read_settings", "restore", "run_campaign", "simulate", "step",
]  # fmt: skip
