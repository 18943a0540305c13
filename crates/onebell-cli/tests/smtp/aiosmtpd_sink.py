"""A mail server that nobody here wrote, and Python's own reading of what it gets: one JSON line per message."""

import asyncio
import base64
import email.policy
import json
import re
import sys

from aiosmtpd.smtp import SMTP


class Sink:
    async def handle_DATA(self, server, session, envelope):
        raw = envelope.original_content
        head = raw.split(b"\r\n\r\n", 1)[0].decode()
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        lines = re.search(r"^Subject: [^\r\n]*(?:\r\n[ \t][^\r\n]*)*", head, re.M).group(0).split("\r\n")
        words = re.findall(r"=\?utf-8\?b\?([^?]*)\?=", " ".join(lines))
        told = {
            "sender": envelope.mail_from,
            "recipients": envelope.rcpt_tos,
            "from": mail["From"],
            "to": mail["To"],
            "subject": mail["Subject"],
            "subject_lines": [len(line) for line in lines],
            "subject_words": [base64.b64decode(word).decode("utf-8", "strict") for word in words],
            "key": mail["X-Onebell-Key"],
            "ref": mail["X-Ref"],
            "message_id": mail["Message-ID"],
            "text": mail.get_body(("plain",)).get_content().replace("\r\n", "\n"),
            "html": html.get_content() if (html := mail.get_body(("html",))) else None,
            "charset": mail.get_body(("plain",)).get_content_charset(),
        }
        print(json.dumps(told), flush=True)
        return "250 2.0.0 taken"


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Sink(), enable_SMTPUTF8=True, loop=loop), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Ends with the test: its end of the pipe closes.
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
