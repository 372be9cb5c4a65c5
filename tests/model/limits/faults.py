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
        "where, '(' .. now, '+inf')\nend",
        "where, '-inf', '+inf')\nend",
    ),
    Fault(
        "a rate lets one too many through",
        "lib/gates",
        "return left <= 0 and",
        "return left < 0 and",
    ),
    Fault("a rate is not used", "lib/lanes", "use_rate(gate, rate)", "rate_place(gate)"),
    Fault("a queue's rate is not used", "lib/lanes", "if limits.rate then", "if false then"),
    Fault("a rate keeps its use", "lib/convert_rates", "if not used then", "if true then"),
    Fault(
        "a key's rate keeps its use",
        "lib/convert_rates",
        "  if before == after then\n    return",
        "  if true then\n    return",
    ),
    Fault("a changed rate is unused", "lib/convert_rates", "math.min(starts, tokens)", "0"),
    Fault(
        "a lowered rate waits for the old interval",
        "lib/convert_rates",
        "math.min(starts, tokens)",
        "tokens",
    ),
    Fault(
        "a rate of the keys takes the queue's rate with it",
        "lib/convert_rates",
        "  if own_used then",
        "  if false then",
    ),
    Fault(
        "a queue lets one more run",
        "lib/queue_capacity",
        "local room = shard",
        "local room = 1 + shard",
    ),
    Fault(
        "a freed gate is not looked at",
        "lib/lanes",
        "    zset_remove(key('gate', gate), job.id)\n    free_gate(gate)",
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
        "served or before[3], false",
        "before[3] or served, false",
    ),
    Fault("turns are not fair", "lib/lanes", "settings(queue).fair == 1", "false"),
    Fault(
        "a heartbeat leaves the gates behind",
        "ops/heartbeat",
        "renew_gates(job, deadline)",
        "refresh_lanes()",
    ),
    Fault(
        "a finished job still counts",
        "lib/job_states",
        "leave_gates(job)\n",
        "refresh_lanes()\n",
    ),
    Fault(
        "a new priority does not change the lane",
        "lib/job_states",
        "  if is_in_lane(job) then\n    move_in_lane(job, job_member(job))\n  end\nend",
        "end",
    ),
    Fault(
        "a first job of a lane that gets a later place leaves the lane as it was",
        "lib/lanes",
        "lane_of(job), false, false), name, job.priority)",
        "lane_of(job), false, name), name, job.priority)",
    ),
    Fault(
        "a new first job leaves its lane as it was",
        "lib/lanes",
        "and first[1] ~= added then",
        "then",
    ),
    Fault(
        "a lane with several new jobs is as it was",
        "lib/lanes",
        "before[3], before[4] = served or before[3], false",
        "before[3] = served or before[3]",
    ),
    Fault("raised limits free nothing", "lib/change_limits", "'WEIGHTS', 0", "'WEIGHTS', 1"),
    Fault("a new throttle frees nothing", "ops/throttle_set", "free_gate('t' .. name)", ""),
    Fault("a throttle that ends frees nothing", "lib/change_limits", "free_gate('t' .. name)", ""),
    Fault(
        "jobs that waited before there were lanes never start",
        "lib/change_limits",
        "key('waiting', queue)) == 1 then",
        "key('waiting', queue)) == 2 then",
    ),
    Fault(
        "a late job knows no limits",
        "lib/expired_leases",
        "and closed_gate_of(job) then",
        "and false then",
    ),
    Fault(
        "an empty lane stays parked",
        "lib/lanes",
        "    leave_parked(queue, lane, turn, gate)\n  else",
        "  else",
    ),
]
