"""Outgoing mail."""

import smtplib
from email.message import EmailMessage


class Mailer:
    """Sends plain text mail through the configured relay."""

    def __init__(self, host: str, sender: str) -> None:
        self.host = host
        self.sender = sender

    def send(self, to: str, subject: str, body: str) -> None:
        """Deliver one message."""
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self.sender, to, subject
        message.set_content(body)
        with smtplib.SMTP(self.host) as relay:
            relay.send_message(message)
