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

local own = redis.call('HMGET', key('settings', queue), 'created', 'governed', 'retries', 'event_data')
local made
if FAST and last_stamp <= now and first_event > 0 and not again and not options and not others and nonce == ''
  and own[1] and not own[2] then
  local shared = redis.call('HMGET', CONFIG, 'retries', 'event_data')
  local jobs, places, count = plain_jobs(queue, each, setting(own[3], shared[1], default_retries))
  if jobs and enter_plainly(queue, each, jobs, places, count, setting(own[4], shared[2], default_event_data)) then
    made = count
  end
end

local chores, log_has_grown
if made then
  chores, log_has_grown = end_short_way()
  if not chores then
    return made
  end
end

-- later  put_any

if made then
  put_any('chores', log_has_grown)
  return made
end
return put_any()
