"""The whole job in a browser, on one's own machine: ``shoal studio``.

Needs the extra ``studio``: ``pip install shoal[studio]``. The server knows no table: it
keeps a policy and runs in a private folder, and whatever looks at records is done by
processes of their own (`shoal.studio.workers`).
"""
