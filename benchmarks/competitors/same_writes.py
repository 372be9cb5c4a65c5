"""The lower bound of a put: a minimal script that writes the same keys, over a bare socket.

The script supports one queue with default settings and assumes that the job is new.
"""

from __future__ import annotations

import json
import os
import socket
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import hiredis
import redis

SCRIPT = r"""
local shard, id, data = KEYS[1], ARGV[1], ARGV[2]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local log = redis.call('HMGET', shard .. 'log', 'number', 'stamp')
local seq = tonumber(log[1] or 0) + 1
redis.call('HMGET', shard .. 'settings:q', 'created', 'governed', 'idle', 'retries', 'event_data')
redis.call('HMGET', shard .. 'config', 'retries', 'event_data')
redis.call('MSETNX', shard .. 'job:' .. id, '\151\1'
  .. cmsgpack.pack('q', 0, seq, now, 5, data))
redis.call('XADD', shard .. 'events', string.format('%d-%d', now, seq), 'kind', 'put', 'id', id,
  'queue', 'q', 'attempt', '0', 'worker', '', 'priority', '0', 'wait', '', 'run', '', 'data', data)
redis.call('ZADD', shard .. 'waiting:q', '0', struct.pack('>BI4', 4, seq) .. id)
redis.call('HINCRBY', shard .. 'books:q', 'put', '1')
redis.call('HINCRBY', shard .. 'books:q', 'waiting', '1')
redis.call('SPUBLISH', shard .. 'queue:q', 'work 1')
redis.call('HSET', shard .. 'log', 'number', seq, 'stamp', now)
return redis.call('ZCOUNT', shard .. 'agenda', '-inf', now)
"""
SHARD = "hr:{bound:0}:"
ANSWER = b":0\r\n"


@cache
def connection() -> tuple[socket.socket, str]:
    """Return a connection and the hash of the script."""
    url = os.environ["BENCH_URL"]
    with redis.Redis.from_url(url) as server:
        sha = str(server.script_load(SCRIPT))
    where = urlsplit(url)
    return socket.create_connection((where.hostname, where.port)), sha


def put(_: str, call: dict[str, Any]) -> None:
    sock, sha = connection()
    words: Any = ("EVALSHA", sha, 1, SHARD, os.urandom(12).hex(), json.dumps(call))
    sock.sendall(hiredis.pack_command(words))
    if sock.recv(4096) != ANSWER:
        raise RuntimeError("the script returned an unexpected reply")
