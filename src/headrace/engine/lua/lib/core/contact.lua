-- contact: remember in this server process when calls reached a shard. The memory ends with the process. A
-- process that has just started, or has just become the primary of the shard, therefore knows that the
-- shard was away until its first call. Scripts remember nothing: a client runs scripts if the server refuses
-- functions. Tests replace this file, because a jump of their clock is no outage.
--
-- uses   now keys

local REMEMBERS = redis.register_function ~= nil

-- The shortest time without a call that is remembered, and the number of such times.
local SHORTEST_GAP, GAPS_AT_MOST = 250, 16

-- By shard (the key of its sessions): the times of the first and the last call, and the newest times without a call.
local CONTACTS = {}

local function note_gap(contact)
  if not contact then
    CONTACTS[SESSIONS] = REMEMBERS and { since = now, last = now, gaps = {} } or nil
    return
  elseif now < contact.last then
    -- The clock was set back, so the remembered times mean nothing now.
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
