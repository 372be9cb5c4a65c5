-- complete_job: a running job ends well.
--
-- uses   now settings jobs emit told_data move books observe notices finishers retain results over
-- later  move_on

local completed_in = {}

local function complete_job(job, given, next_queue, delay, parents)
  local queue, run = job.queue, now - job.since
  observe(queue, 'run', run)
  local result, data
  if given ~= '' then
    result, data = unpack(cmsgpack.unpack(given))
    if data then
      set_data(job, data)
    end
  end
  if next_queue then
    return move_on(job, run, data, next_queue, delay, parents)
  end
  emit('completed', job, nil, run, told_change(job, data))
  leave(job)
  over(job, 'completed')
  job.ended = now
  tell_ended(job.id)
  local limits = settings(queue)
  local kept = limits.keep_count > 0 and limits.keep_age > 0
  if kept then
    enter(job, 'complete', now)
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
  return 'complete'
end

finishers[#finishers + 1] = function()
  for queue in pairs(completed_in) do
    retain(queue)
  end
end
