-- prioritise: change the priority of jobs. A waiting job moves to its new position, before all jobs of the
-- same priority that were put later.
--
-- args   priority:number
-- each   id
-- nonce  always
-- uses   job_records events job_states write_back
-- reply  for each job, its state or a refusal
-- error  NOT_FOUND WRONG_STATE

local answers = {}
for id in each() do
  local job = read_job(id)
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif job.state == 'complete' then
    answers[#answers + 1] = 'WRONG_STATE complete'
  else
    job.priority = priority
    emit('prioritised', job)
    mark_changed(job)
    if job.state == 'waiting' then
      reorder_waiting(job)
    end
    answers[#answers + 1] = job.state
  end
end
return write_back(answers)
