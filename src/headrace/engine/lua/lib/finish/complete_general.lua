-- complete_general: complete jobs through the general path. This path handles results, new data, a next
-- queue, several queues or workers, queues that keep no jobs, refusals and repeated calls.
--
-- uses   job_records remembered_answers check_lease notices write_back now events job_states observations completed_jobs
-- uses   job_finished find_cycle change_queue

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

local function complete_general(next_queue, delay, parents, each)
  short_name(next_queue or '')
  read_jobs(ids_of(each))
  local answers = {}
  for id, token, given in each() do
    local job, refusal = check_lease(id, token)
    local state = not job and was_completed(id, token, loaded_jobs[id]) and 'complete'
    if job and parents then
      refusal = find_cycle(id, extra(job, 'group'), parents)
    end
    if job and not refusal then
      if token == '' then
        notify_worker(job, 'lost')
      end
      state = complete_job(job, given, next_queue, delay, parents)
    end
    answers[#answers + 1] = state or refusal
  end
  return write_back(answers)
end
