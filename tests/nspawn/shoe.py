"""A shoe behind a serial server, in the container: what is written to the pipe goes to whoever is connected."""

from __future__ import annotations

import os
import select
import socket
import sys


def main(pipe: str, port: int) -> None:
    """Serves until it is killed."""
    os.mkfifo(pipe)
    said = os.open(pipe, os.O_RDWR)
    server = socket.create_server(("127.0.0.1", port))
    connections: list[socket.socket] = []
    while True:
        ready, _, _ = select.select([said, server.fileno(), *(one.fileno() for one in connections)], [], [])
        if server.fileno() in ready:
            connections.append(server.accept()[0])
        for connection in connections[:]:
            if connection.fileno() in ready and not connection.recv(1024):
                connections.remove(connection)
        if said in ready:
            data = os.read(said, 1024)
            for connection in connections:
                connection.sendall(data)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
