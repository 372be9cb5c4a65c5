-- give_back: a running job returns to its queue. To the front keeps its old number and so its old
-- place; to the back takes a new one.
--
-- uses   now emit history move

local function give_back(job, kind, position, delay, more, failure, message, data)
  local event = emit(kind, job, nil, now - job.since, told_change(job, data, more))
  remember(job, kind, failure, message)
  leave(job)
  if position == 'back' then
    job.seq = event
  end
  line_up(job, delay)
end
