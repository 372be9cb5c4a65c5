-- put_one: makes one plain job, as put would, in the fewest steps: one that is given nothing but data,
-- for a queue without limits, while nothing is due and nobody waits for work. If that is not so it
-- changes nothing, and put is to be called. Its id is a new one: if it exists, this call is repeated.
--
-- args   queue id data
-- uses   keys set_members now defaults setting_value job_packing plain_put_event fast_path_switch log_needs_trim
-- reply  1 made, 0 put is to be called, 2 hand_one is to be called, for the next jobs as well, -1 the same of put

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
