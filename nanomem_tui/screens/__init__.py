"""The main screens of the console; `registry.py` names them."""
