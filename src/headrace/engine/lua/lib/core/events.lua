-- events: append events of jobs and feeds to the event log. Event numbers are consecutive. The id of a
-- stream entry is <milliseconds>-<number>. If the clock was set back, the id repeats the milliseconds of
-- the previous entry, and the field `at` holds the time of the event. All events begin with the same
-- fields, so the stream stores the names of these fields only once. Events of a tracked job are also
-- published.
--
-- uses   keys now settings job_records notices

-- The number of the newest event, the number of the newest event before this call, and the time in the ids
-- of new entries.
local number, first_number, stamp, entry_prefix

-- Prepare to append events. A caller that has already read the number and the time at the end of the log passes
-- both.
local function open_log(last_number, last_stamp)
  if not last_number then
    last_number, last_stamp = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
  end
  first_number = tonumber(last_number or 0)
  number = first_number
  stamp = math.max(now, tonumber(last_stamp or 0))
  -- The format %d takes less time than other ways to format a number.
  entry_prefix = string.format('%d-', stamp)
end

local function write_log_end()
  redis.call('HSET', LOG, 'number', number, 'stamp', stamp)
end

-- Return a number that increases with every call that appends events.
local function number_of_call()
  if not number then
    open_log()
  end
  return first_number
end

local function with_field(more, name, value)
  more = more or {}
  more[#more + 1] = name
  more[#more + 1] = value
  return more
end

-- Append an event to the open log, and return the id of its entry. `more` lists the names and values of
-- further fields.
local function append_event(kind, id, queue, attempt, worker, priority, wait, run, data, more)
  number = number + 1
  local entry = entry_prefix .. string.format('%d', number)
  if more then
    redis.call('XADD', EVENTS, entry, 'kind', kind, 'id', id, 'queue', queue, 'attempt', attempt, 'worker', worker,
      'priority', priority, 'wait', wait, 'run', run, 'data', data, unpack(more))
  else
    redis.call('XADD', EVENTS, entry, 'kind', kind, 'id', id, 'queue', queue, 'attempt', attempt, 'worker', worker,
      'priority', priority, 'wait', wait, 'run', run, 'data', data)
  end
  return entry
end

-- Open the log before the first event of a call. Return the additional fields of the next event.
local function next_event(more)
  if not number then
    open_log()
  end
  if number == 0 then
    redis.call('ZADD', AGENDA, now + settings('').events_age, 'events:')
  end
  if stamp == now then
    return more
  end
  return with_field(more, 'at', now)
end

-- Append an event of a job, and return its number.
local function emit(kind, job, wait, run, data, more)
  local entry = append_event(kind, job.id, job.queue, job.attempt, job.worker, job.priority, wait or '', run or '',
    data or '', next_event(more))
  if extra(job, 'tracked') then
    notify_trackers(unpack(redis.call('XRANGE', EVENTS, entry, entry)[1]))
  end
  return number
end

local function omit_payload(data, more)
  return '', with_field(more, 'left_out', #data)
end

-- Return a payload in the form that an event stores. A payload that is too large for the log is replaced
-- with its size.
local function event_payload(job, data, more)
  if #data > settings(job.queue).event_data then
    return omit_payload(data, more)
  end
  return data, more
end

-- If a job gets a new payload, return this payload in the form that an event stores. In an event, an empty
-- payload looks the same as no payload, so the event also stores the size of an empty payload.
local function changed_payload(job, data, more)
  if data == '' then
    return omit_payload(data, more)
  elseif data then
    return event_payload(job, data, more)
  end
  return nil, more
end

local TRIM_EVERY = 1024

-- Return whether the event log has grown enough to be trimmed.
local function log_needs_trim(first, last)
  return last % TRIM_EVERY < last - first
end
