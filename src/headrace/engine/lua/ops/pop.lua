-- pop: hands the next jobs of a queue to a worker, each under its own lease: first those whose
-- lease ran out, then the waiting ones. A lease of -1 is the queue's own.
--
-- args   queue worker secret count:int lease:int
-- uses   keys now settings fast short_way stats
-- reply  {milliseconds until something is due or -1, {id, payload that lies apart, ...}, id, record, ...}
-- error  SESSION_REQUIRED

local limits = settings(queue)
if limits.session == 'required' and not (
  tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) > now
  and redis.call('ZSCORE', key('serves', worker), queue)
) then
  return 'SESSION_REQUIRED'
end

local span = limits.lease
if lease >= 0 then
  span = lease
end
local deadline = span and now + span or 'inf'

-- later  pop_any

local earliest = math.huge
for _, where in ipairs({ SESSIONS, key('scheduled', queue), key('running', queue) }) do
  earliest = math.min(earliest, tonumber(redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')[2] or earliest))
end
if not FAST or last_stamp > now or earliest <= now
  or again or limits.paused == 1 or limits.removes == 1 then
  return pop_any()
end

local waiting = key('waiting', queue)
local found = redis.call('ZRANGE', waiting, 0, count - 1)
if #found == 0 then
  end_short_way()
  return { earliest == math.huge and -1 or earliest - now, {} }
end
local job_keys = {}
for i = 1, #found do
  job_keys[i] = job_prefix .. string.sub(found[i], 17)
end
local packed = redis.call('MGET', unpack(job_keys))
for i = 1, #packed do
  local job = cmsgpack.unpack(packed[i])
  if job.data == false or job.extra and job.extra.start_by then
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
redis.call('MSET', unpack(jobs))
redis.call('ZREMRANGEBYRANK', waiting, 0, #found - 1)
redis.call('ZADD', key('running', queue), unpack(running))
if in_session then
  redis.call('ZADD', key('held', worker), unpack(held))
end
redis.call('HINCRBY', key('books', queue), 'waiting', -#found)
redis.call('HINCRBY', key('books', queue), 'running', #found)
write_series(queue, 'wait', waits)
end_short_way()
return reply
