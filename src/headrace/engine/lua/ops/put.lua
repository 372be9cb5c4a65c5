-- put: makes jobs. One that exists is moved here, replaced, refused or duplicated (under its spare
-- id), as on_exists says. The nonce tells a repeated call from a second one. The others are, for
-- each job if any has them, its spare id and its own options.
--
-- args   queue on_exists nonce options:packed others:packed
-- each   id data
-- uses   keys now settings fast short_way
-- reply  how many if all were made, else for each: 1 made, 2 made under its spare id, 3 moved, 4
--        replaced, 0 already made, or why not
-- error  JOB_EXISTS

local limits = settings(queue)

-- later  put_any

if not FAST or last_stamp > now
  or again or options or others or nonce ~= '' or not limits.created then
  return put_any()
end

local largest = math.min(1024, limits.event_data)
local job_keys, seen = {}, {}
for id, data in each() do
  if seen[id] or #data > largest then
    return put_any()
  end
  seen[id] = true
  job_keys[#job_keys + 1] = job_prefix .. id
end
for _, found in ipairs(redis.call('MGET', unpack(job_keys))) do
  if found then
    return put_any()
  end
end

local jobs, places, made = {}, {}, 0
local retries = limits.retries
for id, data in each() do
  event = event + 1
  redis.call('XADD', EVENTS, event_prefix .. event, 'kind', 'put', 'id', id, 'queue', queue,
    'attempt', 0, 'worker', '', 'priority', 0, 'wait', '', 'run', '', 'data', data)
  made = made + 1
  jobs[2 * made - 1] = job_keys[made]
  jobs[2 * made] = cmsgpack.pack({
    'waiting', queue, 0, event, now, now, 0, retries, retries, '', '', false, false, false, data,
  })
  places[2 * made - 1] = 0
  places[2 * made] = string.format('%016.0f', event) .. id
end
redis.call('MSET', unpack(jobs))
redis.call('ZADD', key('waiting', queue), unpack(places))
redis.call('HINCRBY', key('books', queue), 'put', made)
redis.call('HINCRBY', key('books', queue), 'waiting', made)
redis.call('SPUBLISH', key('queue', queue), 'work ' .. made)
end_short_way()
return made
