"""The one kind of error that is a person's to mend."""


class UserError(Exception):
    """A mistake in what a person gave: settings, files, commands.

    The message is one line that says what was wrong, where (file and key), and what would be
    right. The command line prints it without a traceback and exits with status 2.
    """
