-- keep_complete: a job that has ended well is kept as long as its queue says, its result for its own time.
--
-- uses   settings jobs move books finishers retain results

local completed_in = {}

local function keep_complete(job, result)
  local queue = job.queue
  local limits = settings(queue)
  local kept = limits.keep_count > 0 and limits.keep_age > 0
  if kept then
    enter(job, 'complete', job.ended)
    completed_in[queue] = true
  else
    job.state = 'complete'
    book(queue, 'complete', 1)
    book(queue, 'pruned', 1)
    if result then touch(job) else forget(job) end
  end
  if result then
    keep_result(job, result, not kept)
  end
end

finishers[#finishers + 1] = function()
  for queue in pairs(completed_in) do
    retain(queue)
  end
end
