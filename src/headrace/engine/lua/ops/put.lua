-- put: makes jobs. One that exists is moved here, replaced, refused or duplicated (under its spare
-- id), as on_exists says. The nonce tells a repeated call from a second one. The others are, for
-- each job if any has them, its spare id and its own options.
--
-- args   queue on_exists nonce options:packed others:packed
-- each   id data
-- uses   keys now defaults setting fast short_way plain_put
-- reply  how many if all were made, else for each: 1 made, 2 made under its spare id, 3 moved, 4
--        replaced, 0 already made, '=' and an id: that job was replaced in its stead, or why not
-- error  JOB_EXISTS DEPENDENCY_REFUSED UNIQUE_TAKEN

-- later  put_any

local own = redis.call('HMGET', key('settings', queue), 'created', 'governed', 'retries', 'event_data')
if not FAST or last_stamp > now or first_event == 0 or again or options or others or nonce ~= ''
  or not own[1] or own[2] then
  return put_any()
end
local shared = redis.call('HMGET', CONFIG, 'retries', 'event_data')

local retries = setting(own[3], shared[1], default_retries)
local largest = setting(own[4], shared[2], default_event_data)

local jobs, places, made = plain_jobs(queue, each, retries)
if not jobs then
  return put_any()
end
if not enter_plainly(queue, each, jobs, places, made, largest) then
  return put_any()
end
end_short_way(put_any)
return made
