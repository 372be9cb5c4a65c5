-- complete_job: a running job ends well.
--
-- uses   now jobs emit told_data move observe notices keep_complete over
-- later  move_on

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
  keep_complete(job, result)
  return 'complete'
end
