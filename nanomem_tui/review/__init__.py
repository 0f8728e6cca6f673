"""What wants a person's eye, and what a person decides about it: findings, duplicates, contradictions, rules."""
