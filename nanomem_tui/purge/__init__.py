"""`forget` and `scrub`: texts found in everything that is stored, and taken out of it for good.

`run.py` leads; `databases.py`, `stored_files.py` and `texts.py` do it in one kind of place each, `matchers.py` says
what is sought. That it stays forgotten sees `store/forgotten.py` to.
"""
