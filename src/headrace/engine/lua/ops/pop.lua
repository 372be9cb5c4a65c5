-- pop: hands the next jobs of a queue to a worker, each under its own lease: first those whose
-- lease ran out, then the waiting ones. A lease of -1 is the queue's own; one of -2 has no deadline but
-- the end of the worker's session, where the queue heeds sessions. With an offer, a worker that finds
-- nothing is handed the next plain job as it is put, within so many milliseconds.
--
-- args   queue worker secret count:int lease:int offer:int
-- flags  allow-oom
-- uses   keys now defaults setting fast short_way stats ties
-- reply  {milliseconds until something is due or -1, {id, payload that lies apart, ...}, id, record, ...}
-- error  SESSION_REQUIRED

local own = redis.call('HMGET', key('settings', queue), 'session', 'lease', 'paused', 'removes', 'stats',
  'limited', 'created', 'idle')
local shared = redis.call('HMGET', CONFIG, 'session', 'lease', 'paused', 'removes', 'stats')

local heeded = setting(own[1], shared[1], default_session)
local while_session = lease == -2 and heeded
if (while_session or heeded == 'required')
  and tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) <= now
  or heeded == 'required' and not redis.call('ZSCORE', key('serves', worker), queue) then
  return 'SESSION_REQUIRED'
end

local span = setting(own[2], shared[2], default_lease)
if lease >= 0 then
  span = lease
elseif while_session then
  span = false
end
local deadline = span and now + span or 'inf'

-- later  pop_any

if not FAST or own[6] or again or last_stamp > now then
  return pop_any()
end

local earliest = math.huge
for _, where in ipairs({
  SESSIONS, key('scheduled', queue), key('schedules', queue), key('running', queue),
}) do
  earliest = math.min(earliest, tonumber(redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')[2] or earliest))
end
if earliest <= now or setting(own[3], shared[3], default_paused) == 1
  or setting(own[4], shared[4], default_removes) == 1
  or redis.call('EXISTS', key('ingress', queue)) == 1 then
  return pop_any()
end

local function offer_to_take(got)
  if offer > 0 and got == 0 and while_session and own[7] then
    redis.call('HSET', key('settings', queue), 'idle', worker .. '\0' .. secret .. '\0' .. now + offer)
  elseif own[8] and string.sub(own[8], 1, #worker + 1) == worker .. '\0' then
    redis.call('HDEL', key('settings', queue), 'idle')
  end
end

local waiting = key('waiting', queue)
local found = redis.call('ZRANGE', waiting, 0, count - 1)
if #found == 0 then
  offer_to_take(0)
  end_short_way()
  return { earliest == math.huge and -1 or earliest - now, {} }
end
local job_keys = {}
for i = 1, #found do
  job_keys[i] = job_prefix .. string.sub(found[i], 17)
end
local packed = redis.call('MGET', unpack(job_keys))
for i = 1, #packed do
  local job = packed[i] and cmsgpack.unpack(packed[i])
  if not job or job.data == false or job.extra and has_ties(job.extra) then
    return pop_any()
  end
  packed[i] = job
end

local jobs, running, held, waits = {}, {}, {}, {}
local in_session = redis.call('ZSCORE', SESSIONS, worker)
earliest = span and math.min(earliest, deadline) or earliest
local reply = { #found == count and 0 or earliest == math.huge and -1 or earliest - now, {} }
for i = 1, #packed do
  local job = packed[i]
  local id = string.sub(found[i], 17)
  local attempt = job.attempt + 1
  waits[i] = now - job.since
  event = event + 1
  redis.call('XADD', EVENTS, event_prefix .. event, 'kind', 'popped', 'id', id, 'queue', queue,
    'attempt', attempt, 'worker', worker, 'priority', job.priority, 'wait', waits[i], 'run', '',
    'data', '')
  job.state = 'running'
  job.attempt = attempt
  job.worker = worker
  job.token = attempt .. '.' .. secret
  job.since = now
  local record = cmsgpack.pack(job)
  jobs[2 * i - 1] = job_keys[i]
  jobs[2 * i] = record
  running[2 * i - 1] = deadline
  running[2 * i] = id
  if in_session then
    held[2 * i - 1] = 0
    held[2 * i] = queue .. '\0' .. id
  end
  reply[2 * i + 1] = id
  reply[2 * i + 2] = record
end
offer_to_take(#found)
redis.call('MSET', unpack(jobs))
redis.call('ZREMRANGEBYRANK', waiting, 0, #found - 1)
redis.call('ZADD', key('running', queue), unpack(running))
if in_session then
  redis.call('ZADD', key('held', worker), unpack(held))
end
local books = key('books', queue)
redis.call('HINCRBY', books, 'waiting', -#found)
redis.call('HINCRBY', books, 'running', #found)
if setting(own[5], shared[5], default_stats) == 1 then
  write_series(queue, 'wait', waits)
end
end_short_way()
return reply
