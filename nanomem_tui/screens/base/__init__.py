"""What screens share: the list and its detail, the console as they see it, and the dialogs that open on any of them."""
