-- emit: one event for each thing that happens to a job, numbered without holes. The id of the
-- stream entry is <milliseconds>-<number>; a clock that was set back does not break the order,
-- the time then stands in the field `at`.
--
-- uses   keys now

local number, first_number, stamp

local function open_log()
  local log = redis.call('HMGET', LOG, 'number', 'stamp')
  number = tonumber(log[1] or 0)
  first_number = number
  stamp = math.max(now, tonumber(log[2] or 0))
end

local function emit(kind, job, wait, run, data, more)
  if not number then
    open_log()
  end
  number = number + 1
  more = more or {}
  if stamp ~= now then
    more[#more + 1] = 'at'
    more[#more + 1] = now
  end
  redis.call(
    'XADD', EVENTS, stamp .. '-' .. number,
    'v', '1', 'kind', kind, 'id', job.id, 'queue', job.queue, 'attempt', job.attempt,
    'worker', job.worker, 'priority', job.priority, 'wait', wait or '', 'run', run or '',
    'data', data or '', unpack(more)
  )
  return number
end

local function write_log()
  if number then
    redis.call('HSET', LOG, 'number', number, 'stamp', stamp)
  end
end
