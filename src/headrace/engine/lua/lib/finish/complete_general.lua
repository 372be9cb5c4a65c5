-- complete_general: the general path of complete: results, new data, a next queue, several queues or
-- workers, queues that keep no jobs, refusals, repeated calls.
--
-- uses   job_records check_lease notices write_back now events job_states observations keep_completed
-- uses   job_finished
-- needs  next_queue delay parents each
-- later  find_cycle move_to_next_queue

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
    return move_to_next_queue(job, run, data, next_queue, delay, parents)
  end
  emit('completed', job, nil, run, changed_payload(job, data))
  leave_state(job)
  job_finished(job, 'completed')
  job.ended = now
  notify_finished(job.id)
  keep_completed(job, result)
  return 'complete'
end

return function(housekeeping_due, trim_due, crowded)
  if housekeeping_due then
    return run_housekeeping(trim_due, crowded)
  end
  local ids = {}
  for id in each() do
    ids[#ids + 1] = id
  end
  read_jobs(ids)
  local answers = {}
  for id, token, given in each() do
    local job, refusal, done = check_lease(id, token)
    if job and parents then
      refusal = find_cycle(id, extra(job, 'group'), parents)
    end
    if job and not refusal then
      if token == '' then
        notify_worker(job, 'lost')
      end
      done = complete_job(job, given, next_queue, delay, parents)
    end
    answers[#answers + 1] = done or refusal
  end
  return write_back(answers)
end
