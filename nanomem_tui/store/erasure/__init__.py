"""What was forgotten: kept as hashes so that nothing brings it back, and taken out of the database."""
