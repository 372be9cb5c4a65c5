-- put: create jobs. A job whose id exists is moved here, replaced, refused or duplicated under its spare
-- id, as on_exists says. The nonce distinguishes a repeated call from a second one. `others` holds a spare
-- id and options for each job, if any job has them.
--
-- args   queue on_exists nonce options:packed others:packed
-- each   id data
-- uses   keys now defaults setting_value fast_path_enabled fast_path plain_put
-- reply  the number of jobs if all were created, else for each: 1 created, 2 created under its spare id,
--        3 moved, 4 replaced, 0 already created, '=' and an id: that job was replaced instead, or a refusal
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
