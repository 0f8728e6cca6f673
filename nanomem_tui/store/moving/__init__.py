"""Moving the memory of one workspace from one store to another: its tables, its two places, and the steps of a move."""
