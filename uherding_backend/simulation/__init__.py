"""`uherding simulate`: what active learning would have saved on data that is labelled already.

Start reading in ``command.py``.
"""
