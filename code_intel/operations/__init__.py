"""What people do with a project, in the terminal and on the page: functions that return answers.

Nothing here parses options or prints.
"""
