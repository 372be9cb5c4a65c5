-- complete_any: a complete in its general form: with results, data or a next queue, of several
-- queues or workers, where nothing is kept, refused, repeated.
--
-- uses   jobs held notices commit now emit move observe keep_complete ends
-- later  circle move_on

-- a running job ends well.

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
  job_finished(job, 'completed')
  job.ended = now
  tell_ended(job.id)
  keep_complete(job, result)
  return 'complete'
end

return function(chores, log_has_grown, crowded)
  if chores then
    return keep_house(log_has_grown, crowded)
  end
  local ids = {}
  for id in each() do
    ids[#ids + 1] = id
  end
  read_jobs(ids)
  local answers = {}
  for id, token, given in each() do
    local job, refusal, done = held(id, token)
    if job and parents then
      refusal = circle(id, extra(job, 'group'), parents)
    end
    if job and not refusal then
      if token == '' then
        tell_worker(job, 'lost')
      end
      done = complete_job(job, given, next_queue, delay, parents)
    end
    answers[#answers + 1] = done or refusal
  end
  return commit(answers)
end
