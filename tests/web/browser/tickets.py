"""77 classes with long names that share their parts, as those of support tickets do."""

AREAS = ["card", "transfer", "top_up", "exchange", "pin", "balance", "refund"]
MATTERS = [
    "arrival",
    "declined",
    "pending",
    "fee",
    "limit",
    "lost",
    "not_working",
    "stolen",
    "amount",
    "find",
    "linked",
]
NAMES = [f"{area}_{matter}" for area in AREAS for matter in MATTERS]
