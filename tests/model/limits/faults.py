"""Faults to plant in the scripts of limits; see tests/model/jobs/faults.py."""

from __future__ import annotations

from tests.model.harness import Fault

FAULTS = [
    Fault("a key has no concurrency", "lib/gates", "limits.key_concurrency", "false"),
    Fault("a key has no rate", "lib/gates", "limits.key_rate", "false"),
    Fault("a throttle lets one more through", "lib/gates", ">= concurrency", "> concurrency"),
    Fault(
        "a lease that ran out counts",
        "lib/gates",
        "key('gate', gate), '(' .. now, '+inf')\nend",
        "key('gate', gate), '-inf', '+inf')\nend",
    ),
    Fault(
        "a rate lets one too many through",
        "lib/gates",
        "return left <= 0 and",
        "return left < 0 and",
    ),
    Fault("a rate is not used", "lib/lanes", "use_rate(gate, rate)", "rate_place(gate)"),
    Fault("a queue's rate is not used", "lib/lanes", "if limits.rate then", "if false then"),
    Fault(
        "a queue lets one more run",
        "lib/queue_capacity",
        "local free = shard",
        "local free = 1 + shard",
    ),
    Fault(
        "a freed gate is not looked at",
        "lib/lanes",
        "    zset_remove(key('gate', gate), job.id)\n    freed[gate] = true",
        "",
    ),
    Fault(
        "one lane is let go, the next never",
        "lib/lanes",
        "    look_again(queue, gate)\n    gate = ''\n",
        "    gate = ''\n",
    ),
    Fault(
        "a lane that was let go and moved back leaves the others parked",
        "lib/lanes",
        "(served or gate ~= '' and has_moved(turns, lane, turn, next_turn, first[2]))",
        "served",
    ),
    Fault(
        "a lane that ends leaves the others parked",
        "lib/lanes",
        "turn .. lane)\n    look_again(queue, gate)\n",
        "turn .. lane)\n",
    ),
    Fault(
        "a lane parked elsewhere leaves the others parked",
        "lib/lanes",
        "look_again(queue, came_from)",
        "look_again(queue, '')",
    ),
    Fault(
        "the first of several expired leases decides the turn",
        "lib/lanes",
        "served or lanes[lane] or false",
        "lanes[lane] or served",
    ),
    Fault("turns are not fair", "lib/lanes", "settings(queue).fair == 1", "false"),
    Fault(
        "a heartbeat leaves the gates behind",
        "ops/heartbeat",
        "lanes('renew_gates', job, deadline)",
        "lanes('refresh')",
    ),
    Fault(
        "a finished job still counts",
        "lib/job_states",
        "lanes('leave_gates', job)\n",
        "lanes('refresh')\n",
    ),
    Fault(
        "a new priority does not change the lane",
        "lib/job_states",
        "  if is_in_lane(job) then\n    lanes('step_in', job, job_member(job))\n  end\nend",
        "end",
    ),
    Fault("raised limits free nothing", "lib/apply_queue_limits", "'WEIGHTS', 0", "'WEIGHTS', 1"),
    Fault("a new throttle frees nothing", "ops/throttle_set", "lanes('free', 't' .. name)", ""),
    Fault(
        "a throttle that ends frees nothing", "lib/end_throttle", "lanes('free', 't' .. name)", ""
    ),
    Fault(
        "jobs that waited before there were lanes never start",
        "lib/use_lanes",
        "== 1 then",
        "== 2 then",
    ),
    Fault(
        "a late job knows no limits",
        "lib/take_expired_leases",
        "and lanes('closed_gate', job) then",
        "and false then",
    ),
    Fault(
        "an empty lane stays parked",
        "lib/lanes",
        "    leave_parked(queue, lane, turn, gate)\n  else",
        "  else",
    ),
]
