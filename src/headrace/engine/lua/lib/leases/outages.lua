-- outages: tell an outage of the server from the death of a worker. A session that expired during an outage
-- lives on for the setting `grace` after the first call that reached the server again. The leases of a
-- worker that does not return in this time return to their queues without losing a retry.
--
-- uses   keys now settings sorted_sets contact

-- The server was away if no call reached it for this share of a session's TTL. A living worker renews its
-- session after a third of the TTL, so it had no chance to renew the session in time.
local AWAY_SHARE = 0.6

-- Return when the newest outage ended that kept a worker silent. An outage that began after the end of the
-- session does not count: the worker was dead before.
local function outage_end(contact, silent_since, ttl)
  local back = silent_since < contact.since and contact.since or 0
  for _, gap in ipairs(contact.gaps) do
    local from, to = gap[1], gap[2]
    if from <= silent_since + ttl and to - math.max(from, silent_since) > AWAY_SHARE * ttl then
      back = math.max(back, to)
    end
  end
  return back
end

-- Return until when a worker may return whose session has expired, or nil if its time is over. Also return
-- since when the worker is silent, and whether it already had additional time.
local function grace_of(worker, ends)
  local ttl, silent_since, spared_until = unpack(
    redis.call('HMGET', key('session', worker), 'ttl', 'silent_since', 'spared_until'))
  local was_spared = tonumber(spared_until or 0) == ends
  local contact = CONTACTS[SESSIONS]
  if not contact or not ttl then
    return nil, nil, was_spared
  end
  silent_since = was_spared and tonumber(silent_since) or ends - ttl
  local grace_ends = outage_end(contact, silent_since, tonumber(ttl)) + settings('').grace
  return grace_ends > now and grace_ends or nil, silent_since, was_spared
end

local function spare(worker, silent_since, grace_ends)
  zset_add(SESSIONS, worker, grace_ends)
  redis.call('HSET', key('session', worker), 'silent_since', silent_since, 'spared_until', grace_ends)
end

-- Return in how many milliseconds a waiting pop without a session should call again, at the latest when
-- something is due. Its call in the middle of the first session's TTL proves that the server was not away.
-- Workers with sessions prove it by renewing their sessions.
local function ms_until_contact(ms_until_due)
  local worker, ends = unpack(redis.call('ZRANGE', SESSIONS, 0, 0, 'WITHSCORES'))
  local ttl = worker and CONTACTS[SESSIONS] and redis.call('HGET', key('session', worker), 'ttl')
  local middle = ttl and ends - math.floor(ttl / 2) - now or 0
  if middle > 0 and middle < math.huge and (ms_until_due < 0 or middle < ms_until_due) then
    return middle
  end
  return ms_until_due
end
