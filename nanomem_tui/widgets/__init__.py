"""What two or more screens share. Widgets know texts and values only; no store, no workspace."""
