-- events: one event for each thing that happens to a job or a feed, numbered without holes. The id of the
-- stream entry is <milliseconds>-<number>; a clock that was set back does not break the order,
-- the time then stands in the field `at`. All events share their first fields, which a stream
-- stores once. Those of a tracked job are told as well, as they are stored.
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

-- The id of the next entry, and what stands in it beyond the fields that all have.
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

-- a payload as an event tells it. One that is too large for the log is left out, with its size.
-- An event that is not always about a payload cannot tell an empty one from none: that is left out as well.

local function omit_payload(data, more)
  more = more or {}
  more[#more + 1] = 'left_out'
  more[#more + 1] = #data
  return '', more
end

local function event_payload(job, data, more)
  if #data > settings(job.queue).event_data then
    return omit_payload(data, more)
  end
  return data, more
end

-- The same for new data, which there may be.
local function changed_payload(job, data, more)
  if data == '' then
    return omit_payload(data, more)
  elseif data then
    return event_payload(job, data, more)
  end
  return nil, more
end
