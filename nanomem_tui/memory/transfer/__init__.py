"""Import and export: a module for each format, a plan to preview, one operation that performs it.

A reader takes the bytes of a file and gives a `Reading` (`import_plan`): rows, each with the place in the file that
it is from, and a problem for each part that cannot be read. Of a row it owes: an id (that of the source, or a new
one: the plan also finds a row that is here already by its text), `meta["from"]` with the file and the line, and,
where nothing dates a text that says "yesterday", an empty `meta[said_on.FIELD]`. `Reading.fields` names what the
format holds of a row, so that what it does not hold is no difference to the row that is here. `markdown.py` is the
shortest complete reader.
"""
