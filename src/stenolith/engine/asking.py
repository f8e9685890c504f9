"""TEMPORARY"""


class Asking:
    def __init__(self, house):
        pass
