"""A reverse proxy in a process of its own, in place of the one of deploy/: python proxy.py PORT SECRET.

Whoever logs in (here with the header `X-Login`) has their name sent on in `Remote-User`, with the secret; what a client
sends in these headers itself is left out. It says on which port it listens.
"""

import asyncio
import sys

OURS = (b"remote-user", b"x-bela-proxy-secret", b"x-forwarded-proto", b"x-login", b"connection")


def rewritten(head: bytes, secret: str) -> bytes:
    """Return the head of a request as the server gets it."""
    first, *lines = head.rstrip(b"\r\n").split(b"\r\n")
    fields = [line.partition(b":") for line in lines]
    login = next((value.strip() for name, _, value in fields if name.lower() == b"x-login"), b"")
    kept = [line for line, (name, _, _) in zip(lines, fields, strict=True) if name.lower() not in OURS]
    added = [b"X-Forwarded-Proto: https", b"Connection: close", b"X-Bela-Proxy-Secret: " + secret.encode()]
    return b"\r\n".join([first, *kept, *added, *([b"Remote-User: " + login] if login else []), b"", b""])


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on what comes in, at once."""
    try:
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main(port: int, secret: str) -> None:
    """Serve until the process is ended."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        to_server.write(rewritten(head, secret))
        sending = asyncio.create_task(pipe(reader, to_server))
        await pipe(from_server, writer)
        sending.cancel()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
