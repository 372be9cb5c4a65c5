-- requeue: existing jobs are put into a queue (their own if empty) as if new, their data and
-- options kept; whoever holds one has lost it.
--
-- args   queue delay:int
-- each   id
-- uses   settings jobs emit join depart commit
-- reply  for each, its new state or why not
-- error  NOT_FOUND

local answers = {}
for id in each() do
  local job = read_job(id)
  if job then
    local from, was = job.queue, job.state
    depart(job)
    job.worker = ''
    job.queue = queue ~= '' and queue or from
    local event = emit('put', job, nil, nil, nil,
      { 'from', from, 'was', was, 'delay', delay, 'left_out', #payload(job) })
    join(job, job.queue, event, delay)
    answers[#answers + 1] = job.state
  else
    answers[#answers + 1] = 'NOT_FOUND'
  end
end
return commit(answers)
