"""A TCP connection whose messages carry codes that only processes with one secret can make.

Both sides begin with a nonce. A message is a header (JSON), a payload, and HMAC-SHA256 over the two nonces,
the direction, a counter, the header and the payload. So nothing can be changed, left out, repeated or sent
by somebody without the secret; the payload is not hidden from who reads the network.
"""

import contextlib
import hashlib
import hmac
import json
import os
import socket
import struct

NONCE = 32
CODE = hashlib.sha256().digest_size
LONGEST_HEADER = 1 << 24
LENGTHS = struct.Struct("!IQ")


class Refused(ConnectionError):
    """What came was not written by a process with this secret."""


class SignedConnection:
    """One end of a connection.

    Args:
      sock: a connected socket, which belongs to this from then on.
      secret: bytes; both ends have the same.
      serves: whether this is the end that was connected to.
      chunk: how many bytes of a payload are sent or read at once.
    """

    def __init__(self, sock, secret, serves, chunk=1 << 22):
        self.sock, self.chunk = sock, chunk
        self.serves = serves
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own = os.urandom(NONCE)
        sock.sendall(own)
        other = self.exactly(NONCE)
        both = own + other if serves else other + own
        self.secret = hmac.new(secret, b"rabbet transfer\0" + both, hashlib.sha256).digest()
        self.sent = self.got = 0

    def code(self, from_server, count, header):
        """What the code of a message is made with; the payload comes after."""
        start = (b"s" if from_server else b"c") + count.to_bytes(8, "big") + len(header).to_bytes(4, "big")
        return hmac.new(self.secret, start + header, hashlib.sha256)

    def send(self, header, parts=()):
        """Send a header, which JSON can hold, and bytes-like parts behind it."""
        text = json.dumps(header).encode()
        parts = [memoryview(part).cast("B") for part in parts]
        code = self.code(self.serves, self.sent, text)
        self.sock.sendall(LENGTHS.pack(len(text), sum(map(len, parts))) + text)
        for part in parts:
            for start in range(0, len(part), self.chunk):
                piece = part[start : start + self.chunk]
                code.update(piece)
                self.sock.sendall(piece)
        self.sock.sendall(code.digest())
        self.sent += 1

    def receive(self, room=None):
        """The header of the next message and its payload, a bytearray.

        Args:
          room: from the header, how many bytes are expected; another number is refused before any is read.

        Raises:
          Refused: for a message without the right code. ConnectionError: if the other end is gone.
        """
        length, size = LENGTHS.unpack(self.exactly(LENGTHS.size))
        if length > LONGEST_HEADER:
            raise Refused("a message begins with what is no header")
        text = bytes(self.exactly(length))
        try:
            header = json.loads(text)
        except ValueError:
            raise Refused("a message begins with what is no header") from None
        if size > (0 if room is None else room):
            raise Refused(f"a message holds {size} bytes, more than were asked for")
        payload = bytearray(size)
        code = self.code(not self.serves, self.got, text)
        view = memoryview(payload)
        for start in range(0, size, self.chunk):
            piece = view[start : start + self.chunk]
            self.into(piece)
            code.update(piece)
        if not hmac.compare_digest(code.digest(), bytes(self.exactly(CODE))):
            raise Refused("a message carries a code that was made with another secret, or was changed")
        self.got += 1
        return header, payload

    def exactly(self, count):
        """The next bytes, so many."""
        found = bytearray(count)
        self.into(memoryview(found))
        return found

    def into(self, view):
        """Fill a memoryview with the next bytes."""
        done = 0
        while done < len(view):
            count = self.sock.recv_into(view[done:])
            if not count:
                raise ConnectionError("the other end closed the connection")
            done += count

    def close(self):
        """End the connection."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


__all__ = ["Refused", "SignedConnection"]
