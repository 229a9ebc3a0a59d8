"""Immutable facts about what was run: records, certificates and receipts."""
