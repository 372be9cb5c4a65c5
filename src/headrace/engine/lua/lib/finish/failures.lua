-- failures: mark jobs as failed, list failed jobs by failure type, and store the messages of failures. A
-- failure type without jobs is deleted.
--
-- uses   keys job_records sorted_sets now events job_history job_states observations notices
-- uses   job_finished

-- Records and events contain only the beginning of a message, so that a job stays small however often it
-- fails. The whole message and the traceback of the newest failure are stored in the hash notes:<id>.
local SHORT_MESSAGE = 1024

-- If the limit falls inside a character, the whole character is cut off.
local function short_message(message)
  local size = math.min(#message, SHORT_MESSAGE)
  while size > 0 and string.find(message, '^[\128-\191]', size + 1) do
    size = size - 1
  end
  return string.sub(message, 1, size)
end

local function store_error_text(job, message, traceback, at)
  local notes = key('notes', job.id)
  if traceback or #message > SHORT_MESSAGE then
    redis.call('HSET', notes, 'error', cmsgpack.pack({ at or now, message, traceback or '' }))
  else
    redis.call('HDEL', notes, 'error')
  end
end

local failure_counts

local function list_failure(job, by)
  local kind, _, at = unpack(extra(job, 'failure'))
  failure_counts = failure_counts or {}
  failure_counts[kind] = (failure_counts[kind] or 0) + by
  if by > 0 then
    zset_add(key('failures', kind), job.id, at)
  else
    zset_remove(key('failures', kind), job.id)
  end
end

local function unlist_failure(job)
  if job.state == 'failed' then
    list_failure(job, -1)
    set_extra(job, 'failure', nil)
  end
end

local function write_failure_counts()
  for kind, by in pairs(failure_counts) do
    if by ~= 0 and tonumber(redis.call('ZINCRBY', FAILURE_TYPES, by, kind)) <= 0 then
      redis.call('ZREM', FAILURE_TYPES, kind)
    end
  end
end

-- Mark a job as failed. The job is listed under its failure type until the job is retried, moved or
-- cancelled.
local function fail_job(job, kind, message, reason, traceback, data)
  local short = short_message(message)
  local run = job.state == 'running' and now - job.since or nil
  emit('failed', job, nil, run, changed_payload(job, data, {
    'failure', kind, 'message', short, 'reason', reason,
  }))
  add_history(job, 'failed', kind, short)
  store_error_text(job, message, traceback)
  unlist_failure(job)
  leave_state(job)
  job_finished(job, 'failed')
  set_extra(job, 'failure', { kind, short, now, job.worker })
  job.worker = ''
  job.since = now
  enter_state(job, 'failed', now)
  list_failure(job, 1)
  observe(job.queue, 'failures')
  notify_finished(job.id)
end
