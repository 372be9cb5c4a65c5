-- outages: distinguish an outage of the server from the death of a worker. If a session expired during an outage,
-- the session is extended by the setting `grace`, counted from the first call that reached the server after the
-- outage. If the worker does not renew the session in this time, its jobs return to their queues and lose no
-- retry.
--
-- uses   keys now settings sorted_sets contact

-- If no call reached the server for more than this share of a session's TTL, this silence was an outage for the
-- session. A live worker renews its session every third of the TTL, so the silence may have prevented a renewal.
local AWAY_SHARE = 0.6

-- Return the end of the newest outage that may have kept a worker from renewing its session, or 0 if there is
-- none. If an outage began after the end of the session, it does not count, because the worker was dead already.
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

-- For a worker whose session has expired, return the time until which it may still renew the session, or nil if
-- the session is over. Also return the time of the last renewal, and whether the session was already extended.
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

-- Return the milliseconds after which a waiting pop without a session should call again. The time is never later
-- than the next due work. It is also not later than the middle of the TTL of the session that ends first: a call
-- at that time proves that the server is reachable. Workers with sessions prove this by renewing their sessions.
local function ms_until_contact(ms_until_due)
  local worker, ends = unpack(redis.call('ZRANGE', SESSIONS, 0, 0, 'WITHSCORES'))
  local ttl = worker and CONTACTS[SESSIONS] and redis.call('HGET', key('session', worker), 'ttl')
  local middle = ttl and ends - math.floor(ttl / 2) - now or 0
  if middle > 0 and middle < math.huge and (ms_until_due < 0 or middle < ms_until_due) then
    return middle
  end
  return ms_until_due
end
