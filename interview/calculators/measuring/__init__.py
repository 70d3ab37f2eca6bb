"""Predictions held against the local model: each module measures what one calculator computes.

Every module has `plan(inputs) -> JSON` (what to run, bounded; pure) and `measure(job, plan) -> Proof` (in a worker).
"""
