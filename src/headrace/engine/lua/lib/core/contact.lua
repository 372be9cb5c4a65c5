-- contact: record in the memory of this server process when calls reached each shard. The memory of a new process
-- is empty. If a process has just started, or has just become the primary of the shard, its first call on the
-- shard therefore marks the end of an outage. On a server that refuses functions, clients run scripts, and
-- scripts keep nothing in memory between calls. Tests replace this file, because a jump of the tests' clock is
-- not an outage.
--
-- uses   now keys

local REMEMBERS = redis.register_function ~= nil

-- Record periods without a call that last at least this many milliseconds, and at most this many periods.
local SHORTEST_GAP, GAPS_AT_MOST = 250, 16

-- For each shard, by the key of its sessions: the times of the first and the last call, and the newest periods
-- without a call.
local CONTACTS = {}

local function note_gap(contact)
  if not contact then
    CONTACTS[SESSIONS] = REMEMBERS and { since = now, last = now, gaps = {} } or nil
    return
  elseif now < contact.last then
    -- The clock was set back, so the recorded periods are no longer valid.
    contact.since, contact.gaps = math.min(contact.since, now), {}
  else
    table.insert(contact.gaps, 1, { contact.last, now })
    contact.gaps[GAPS_AT_MOST + 1] = nil
  end
  contact.last = now
end

-- Every function that may write calls this function first.
local function note_call()
  local contact = CONTACTS[SESSIONS]
  if contact and now >= contact.last and now - contact.last < SHORTEST_GAP then
    contact.last = now
  else
    note_gap(contact)
  end
end
