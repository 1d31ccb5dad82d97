"""States of a feature in a record, and what users are told of those that are not simply checked.

The list of operators prints them and imports nothing heavy for it.
"""

IMMATERIAL, INEFFECTIVE, STALE = "immaterial", "ineffective", "stale"
FEATURES_TOLD = {
    IMMATERIAL: "can change no result",
    INEFFECTIVE: "without effect in their cases",
    STALE: "stale",
}
