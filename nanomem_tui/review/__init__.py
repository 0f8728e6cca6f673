"""Review: what needs a person's decision, and the decision: findings, duplicates, conflicts, leaks, rules."""
