-- error_text: what a failure says. Records and events keep the beginning of a message, so that a job
-- stays small however often it fails; the newest failure is kept whole, with its traceback, beside
-- the job.
--
-- uses   keys now

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
