"""Faults to plant in the scripts of writes: stage, prepare, decide, publish and discard."""

from __future__ import annotations

from tests.model.harness import Fault

WRITE_FAULTS = [
    Fault("a chunk is staged twice", "ops/stage", "position >= there", "true"),
    Fault("a bundle grows after it was prepared", "ops/stage", "not is_loose(parcel)", "false"),
    Fault("a gap in a parcel is not noticed", "ops/stage", "there < position", "false"),
    Fault("what nobody wants stays", "ops/stage", "now + STAGED_FOR", "now + 1000 * STAGED_FOR"),
    Fault("what is prepared goes", "ops/prepare", "lift(AGENDA, staged_entry(parcel))", ""),
    Fault("what is not there is prepared", "ops/prepare", "== chunks", "~= nil"),
    Fault("what was given up is prepared", "ops/prepare", "'given_up' then", "'' then"),
    Fault("what was decided is prepared", "ops/prepare", "state ~= 'prepared'", "false"),
    Fault("a write is decided twice", "ops/decide", ">= batch then", "> batch then"),
    Fault("an earlier batch is decided", "ops/decide", ">= batch then", "== batch then"),
    Fault("what is not prepared is decided", "ops/decide", "~= 'prepared' then", "== '' then"),
    Fault(
        "what is decided can be discarded",
        "ops/discard",
        "state == 'decided' or state == 'published'",
        "false",
    ),
    Fault("a parcel of another goes", "ops/discard", "if is_loose(parcel) then", "if 1 then"),
    Fault("what is not decided is published", "ops/publish", "'prepared' and is_home", "''"),
    Fault("what was given up is published", "ops/publish", "state == 'given_up' then", "nil then"),
    Fault("a chunk is published again", "lib/published", "drop_chunk(bundle, parcel)", ""),
    Fault("the last chunk is forgotten", "lib/bundles", "redis.call('EXISTS', where) == 0", "true"),
    Fault("the agenda gives up what was decided", "lib/tend_bundle", "state == 'decided'", "false"),
    Fault("the agenda does not go on", "lib/tend_bundle", "now + PAUSE", "now + 10 ^ 12"),
    Fault(
        "nothing is left of what was given up",
        "lib/bundles",
        "elseif is_home then",
        "elseif nil then",
    ),
    Fault("nobody looks after what was decided", "ops/decide", "is_in_hand(bundle)", ""),
    Fault("the end of a write is not told", "lib/ledger", "'state', 'published'", "'state', 'x'"),
    Fault("a write is over before its end", "ops/conclude", "== 'published' then", "~= '' then"),
    Fault("rows are lost unnoticed", "lib/ledger", "missing > 0", "missing > 1e9"),
    Fault("what is there is called lost", "lib/ledger", "missing > 0", "missing >= 0"),
    Fault("a write is forgotten too soon", "lib/forget_decided", "is_published(write)", "true"),
    Fault("an entry of the ledger stays", "lib/ledger", "or RECORDS_FOR", "or 1000 * RECORDS_FOR"),
    Fault("what is skipped is not counted", "lib/publish_rows", "or 'skipped'", "or 'made'"),
    Fault("options of rows are lost", "lib/publish_rows", "data, own, nonce", "data, nil, nonce"),
    Fault("the policy of a write is not kept", "lib/publish_rows", "on_exists = policy", ""),
    Fault("payloads are cut wrong", "lib/read_chunk", "at + length)", "at + length + 1)"),
    Fault("parcels have no order", "ops/prepare", "'ZADD', parcels, order", "'ZADD', parcels, 0"),
]
