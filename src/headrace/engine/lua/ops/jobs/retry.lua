-- retry: move failed jobs to the back of their queues with a renewed retry budget. `expected` may contain, for each job, the time of its failure and a
-- delay for this job. A job that has failed again since that time is not retried.
--
-- args   delay:int expected:packed
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   job_records events job_states failures unique_values write_back
-- reply  for each job, its new state or a refusal
-- error  NOT_FOUND WRONG_STATE UNIQUE_TAKEN

local function try_again(job, after)
  unlist_failure(job)
  leave_state(job)
  job.remaining = job.retries
  set_extra(job, 'releases', nil)
  job.token = ''
  job.seq = emit('unfailed', job, nil, nil, nil, { 'delay', after })
  claim_unique_value(job)
  enqueue(job, after)
  return job.state
end

local answers = {}
for id in each() do
  local job = read_job(id)
  local failed_at, own_delay = unpack(expected and expected[#answers + 1] or {})
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif job.state ~= 'failed' or failed_at and failed_at ~= extra(job, 'failure')[3] then
    answers[#answers + 1] = 'WRONG_STATE ' .. job.state
  else
    answers[#answers + 1] = unique_refusal(job.queue, extra(job, 'unique'), id)
      or try_again(job, own_delay or delay)
  end
end
return write_back(answers)
