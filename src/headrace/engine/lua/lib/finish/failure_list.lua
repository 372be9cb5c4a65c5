-- failure_list: failed jobs are listed by type; a type without jobs disappears.
--
-- uses   keys jobs places move finishers now

-- what a failure says. Records and events keep the beginning of a message, so that a job
-- stays small however often it fails; the newest failure is kept whole, with its traceback, beside
-- the job.

local SHORT_MESSAGE = 1024

-- Where the cut would split a letter, the letter is left out.
local function shortened(message)
  local size = math.min(#message, SHORT_MESSAGE)
  while size > 0 and string.find(message, '^[\128-\191]', size + 1) do
    size = size - 1
  end
  return string.sub(message, 1, size)
end

local function keep_error(job, message, traceback, at)
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
    place(key('failures', kind), job.id, at)
  else
    lift(key('failures', kind), job.id)
  end
end

local function unlist_failure(job)
  if job.state == 'failed' then
    list_failure(job, -1)
    set_extra(job, 'failure', nil)
  end
end

finishers[#finishers + 1] = function()
  for kind, by in pairs(failure_counts) do
    if by ~= 0 and tonumber(redis.call('ZINCRBY', FAILURE_TYPES, by, kind)) <= 0 then
      redis.call('ZREM', FAILURE_TYPES, kind)
    end
  end
end
