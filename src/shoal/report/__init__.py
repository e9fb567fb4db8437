"""Pictures of finished work. Needs the extra ``report``: ``pip install shoal[report]``."""
