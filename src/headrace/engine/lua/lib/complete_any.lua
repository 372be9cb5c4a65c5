-- complete_any: a complete in its general form: with results, data or a next queue, of several
-- queues or workers, where nothing is kept, refused, repeated.
--
-- uses   jobs held complete_job notices commit

return function()
  local ids = {}
  for id in each() do
    ids[#ids + 1] = id
  end
  read_jobs(ids)
  local answers = {}
  for id, token, given in each() do
    local job, refusal, done = held(id, token)
    if job and token == '' then
      tell_worker(job, 'lost')
    end
    answers[#answers + 1] = job and complete_job(job, given, next_queue, delay)
      or done or refusal
  end
  return commit(answers)
end
