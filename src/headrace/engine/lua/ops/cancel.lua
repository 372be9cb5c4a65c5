-- cancel: jobs are deleted, wherever they are; a complete one is left alone. Whoever runs one is
-- told. What is gone when a call is repeated counts as cancelled by it.
--
-- each   id
-- flags  allow-oom
-- uses   jobs cancel_job commit
-- reply  for each, the state it was in or why not
-- error  NOT_FOUND WRONG_STATE DONE

local answers = {}
for id in each() do
  local job = read_job(id)
  if not job then
    answers[#answers + 1] = again and 'DONE' or 'NOT_FOUND'
  elseif job.state == 'complete' then
    answers[#answers + 1] = 'WRONG_STATE complete'
  else
    answers[#answers + 1] = job.state
    cancel_job(job, 'operator')
  end
end
return commit(answers)
