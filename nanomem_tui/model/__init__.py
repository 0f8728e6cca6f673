"""Language models: settings, the client of an OpenAI-compatible endpoint, and what each provider wants said otherwise.

Knows nothing of memories or Dreams. No network unless the user configured an endpoint.
"""
