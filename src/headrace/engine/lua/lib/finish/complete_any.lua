-- complete_any: a complete in its general form: with results, data or a next queue, of several
-- queues or workers, where nothing is kept, refused, repeated.
--
-- uses   jobs held complete_job notices commit keep_house
-- later  circle

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
