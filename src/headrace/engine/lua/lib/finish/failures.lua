-- failures: list failed jobs by failure type, and store the messages of failures. A type without jobs
-- disappears.
--
-- uses   keys job_records sorted_sets write_back_hooks now

-- Records and events keep the beginning of a message, so that a job stays small however often it fails. The
-- newest failure is stored whole, with its traceback, under a key of its own.
local SHORT_MESSAGE = 1024

-- A character that the cut would split is left out.
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

local failure_counts = {}

local function list_failure(job, by)
  local kind, _, at = unpack(extra(job, 'failure'))
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

write_back_hooks[#write_back_hooks + 1] = function()
  for kind, by in pairs(failure_counts) do
    if by ~= 0 and tonumber(redis.call('ZINCRBY', FAILURE_TYPES, by, kind)) <= 0 then
      redis.call('ZREM', FAILURE_TYPES, kind)
    end
  end
end
