"""Where memory is kept: the database, the RAM snapshot, the ledger, checkpoints and the agent files we write. Knows no screen."""
