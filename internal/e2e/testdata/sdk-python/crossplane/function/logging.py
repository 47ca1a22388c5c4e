"""Logs lines to standard error."""

import enum
import sys


class Level(enum.Enum):
    DEBUG = 1
    INFO = 2


class Logger:
    def debug(self, message, **fields):
        print(message, fields, file=sys.stderr)


def configure(level=Level.INFO):
    pass


def get_logger():
    return Logger()
