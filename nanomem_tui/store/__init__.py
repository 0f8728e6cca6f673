"""Where memory is kept: database, snapshot in RAM, ledger, checkpoints, the files that we write. Knows no screen."""
