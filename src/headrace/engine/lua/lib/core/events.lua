-- events: append events of jobs and feeds to the event log, numbered without holes. The id of a stream
-- entry is <milliseconds>-<number>. If the clock was set back, the id keeps the order and the field `at`
-- holds the time. All events begin with the same fields, which a stream stores once. Events of a tracked
-- job are also published.
--
-- uses   keys now settings job_records notices

local NOTHING_MORE = {}

local number, first_number, stamp, entry_prefix, changes

local function open_log()
  local last_number, last_time, last_change = unpack(redis.call('HMGET', LOG, 'number', 'stamp', 'changes'))
  number = tonumber(last_number or 0)
  first_number = number
  stamp = math.max(now, tonumber(last_time or 0))
  changes = tonumber(last_change or 0)
  entry_prefix = string.format('%.0f-', stamp)
  if number == 0 then
    redis.call('ZADD', AGENDA, now + settings('').events_age, 'events:')
  end
end

-- Return the id of the next entry, and its fields beyond those that all events have.
local function next_entry(more)
  if not number then
    open_log()
  end
  number = number + 1
  if stamp ~= now then
    more = more or {}
    more[#more + 1] = 'at'
    more[#more + 1] = now
  end
  return entry_prefix .. string.format('%.0f', number), more or NOTHING_MORE
end

local function event_entry(entry, kind, job, wait, run, data, more)
  return entry, 'kind', kind, 'id', job.id, 'queue', job.queue, 'attempt', job.attempt,
    'worker', job.worker, 'priority', job.priority, 'wait', wait or '', 'run', run or '',
    'data', data or '', unpack(more)
end

local function emit(kind, job, wait, run, data, more)
  local entry
  entry, more = next_entry(more)
  redis.call('XADD', EVENTS, event_entry(entry, kind, job, wait, run, data, more))
  if extra(job, 'tracked') then
    notify_trackers({ event_entry(entry, kind, job, wait, run, data, more) })
  end
  return number
end

local function omit_payload(data, more)
  more = more or {}
  more[#more + 1] = 'left_out'
  more[#more + 1] = #data
  return '', more
end

-- Return a payload as its event stores it. A payload too large for the log is replaced by its size.
local function event_payload(job, data, more)
  if #data > settings(job.queue).event_data then
    return omit_payload(data, more)
  end
  return data, more
end

-- The same for optional new data. Such an event cannot distinguish an empty payload from none, so the size
-- of an empty one is stored too.
local function changed_payload(job, data, more)
  if data == '' then
    return omit_payload(data, more)
  elseif data then
    return event_payload(job, data, more)
  end
  return nil, more
end
