-- requeue: put existing jobs into a queue like new jobs. The jobs keep their data and options. If `queue`
-- is empty, each job moves to the back of its current queue. If a worker holds one of the jobs, that
-- worker loses its lease. If `state` is set, only jobs in that state are requeued.
--
-- args   queue:short_name delay:int state
-- each   id
-- nonce  always
-- uses   job_records events change_queue unique_values write_back
-- reply  for each job, its new state or a refusal
-- error  NOT_FOUND WRONG_STATE UNIQUE_TAKEN

local function put_again(job, into)
  local from, was = job.queue, job.state
  leave_queue(job)
  job.worker = ''
  job.queue = into
  local more = { 'from', from, 'was', was, 'delay', delay, 'left_out', #payload(job) }
  if extra(job, 'tags') then
    more = with_field(more, 'tags', cjson.encode(extra(job, 'tags')))
  end
  local event = emit('put', job, nil, nil, nil, more)
  join_queue(job, into, event, delay)
  return job.state
end

local answers = {}
for id in each() do
  local job = read_job(id)
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif state ~= '' and job.state ~= state then
    answers[#answers + 1] = 'WRONG_STATE ' .. job.state
  else
    local into = queue ~= '' and queue or job.queue
    answers[#answers + 1] = unique_refusal(into, extra(job, 'unique'), id) or put_again(job, into)
  end
end
return write_back(answers)
