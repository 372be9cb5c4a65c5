-- put: makes jobs. One that exists is moved here, replaced, refused or duplicated (under its spare
-- id), as on_exists says. The nonce tells a repeated call from a second one. The others are, for
-- each job if any has them, its spare id and its own options.
--
-- args   queue on_exists nonce options:packed others:packed
-- each   id data
-- uses   keys now defaults setting_value fast_path_switch fast_path plain_put
-- reply  how many if all were made, else for each: 1 made, 2 made under its spare id, 3 moved, 4
--        replaced, 0 already made, '=' and an id: that job was replaced in its stead, or why not
-- error  JOB_EXISTS DEPENDENCY_REFUSED UNIQUE_TAKEN

local created, governed, own_retries, own_event_data = unpack(redis.call('HMGET', key('settings', queue), 'created',
  'governed', 'retries', 'event_data'))
local made
if FAST_PATH and last_stamp <= now and first_event > 0 and not again and not options and not others and nonce == ''
  and created and not governed then
  local shared_retries, shared_event_data = unpack(redis.call('HMGET', CONFIG, 'retries', 'event_data'))
  local jobs, places, count = pack_plain_jobs(queue, each,
    setting_value(own_retries, shared_retries, default_retries))
  if jobs and insert_plain_jobs(queue, each, jobs, places, count,
    setting_value(own_event_data, shared_event_data, default_event_data)) then
    made = count
  end
end

local housekeeping_due, trim_due
if made then
  housekeeping_due, trim_due = end_fast_path()
  if not housekeeping_due then
    return made
  end
end

-- later  put_general

if made then
  put_general('housekeeping', trim_due)
  return made
end
return put_general()
