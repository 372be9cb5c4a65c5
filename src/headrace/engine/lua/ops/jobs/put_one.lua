-- put_one: create one job that has nothing but data, in the fewest steps, for a queue without limits while
-- nothing is due and no worker waits. In any other case it changes nothing and the client calls put. The id
-- is new: if it exists, this call is a repetition.
--
-- args   queue id data
-- uses   keys set_members now defaults setting_value job_packing plain_put_event fast_path_enabled
-- uses   log_needs_trim
-- reply  1 created, 0 call put, 2 call hand_one for this and the next jobs, -1 call put for this and the next jobs

local where = job_prefix .. id
if again and redis.call('EXISTS', where) == 1 then
  return 1
end
local governed, idle_worker, created, own_retries, own_event_data = unpack(redis.call('HMGET',
  key('settings', queue), 'governed', 'idle', 'created', 'retries', 'event_data'))
if governed then
  return -1
elseif idle_worker then
  return 2
end
local last_number, last_stamp = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
local seq = tonumber(last_number or 0) + 1
if not FAST_PATH or not created or seq == 1 or tonumber(last_stamp) > now or log_needs_trim(seq - 1, seq)
  or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0 then
  return 0
end
local shared_retries, shared_event_data = unpack(redis.call('HMGET', CONFIG, 'retries', 'event_data'))
local retries = setting_value(own_retries, shared_retries, default_retries)
if #data > INLINE then
  return -1
end

local record = JUST_PUT .. cmsgpack.pack(queue, 0, seq, now, retries, data)
if redis.call('SETNX', where, record) == 0 then
  return 1
end
add_plain_put_event(string.format('%d-%d', now, seq), queue, id, data,
  setting_value(own_event_data, shared_event_data, default_event_data))
redis.call('ZADD', key('waiting', queue), '0', numbered(seq, id))
redis.call('HINCRBY', key('books', queue), 'put', '1')
redis.call('HINCRBY', key('books', queue), 'waiting', '1')
redis.call('SPUBLISH', key('queue', queue), 'work 1')
redis.call('HSET', LOG, 'number', seq, 'stamp', now)
return 1
