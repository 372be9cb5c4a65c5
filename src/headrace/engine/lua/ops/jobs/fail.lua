-- fail: record a failed attempt. If `retry_in` is 0 or more and the job has retries left, the job is
-- retried after that many milliseconds. Otherwise the job fails permanently. An operator, who passes an
-- empty token, may fail a job in any state except complete.
--
-- each   id token failure message traceback:optional retry_in:int data:optional
-- flags  allow-oom
-- nonce  always
-- uses   job_records check_lease failures return_job observations notices write_back
-- reply  for each job, its new state or a refusal
-- error  NOT_FOUND LEASE_LOST WRONG_STATE

local function by_operator(id)
  local job = read_job(id)
  if not job then
    return nil, 'NOT_FOUND'
  elseif job.state == 'complete' then
    return nil, 'WRONG_STATE complete'
  end
  return job
end

local function fail_one(job, by_token, failure, message, traceback, retry_in, data)
  if data then
    set_data(job, data)
  end
  local tries_left = not job.retries or job.remaining > 0
  if retry_in >= 0 and job.state == 'running' and tries_left then
    observe(job.queue, 'retries')
    if job.retries then
      job.remaining = job.remaining - 1
    end
    local short = short_message(message)
    return_job(job, 'retried', 'back', retry_in,
      { 'failure', failure, 'message', short, 'delay', retry_in }, failure, short, data)
    store_error_text(job, message, traceback)
    return job.state
  end
  if not by_token and job.state == 'running' then
    notify_worker(job, 'lost')
    job.token = ''
  end
  fail_job(job, failure, message, by_token and 'worker' or 'operator', traceback, data)
  return 'failed'
end

local answers = {}
for id, token, failure, message, traceback, retry_in, data in each() do
  local job, refusal
  if token == '' then
    job, refusal = by_operator(id)
  else
    job, refusal = check_lease(id, token)
  end
  answers[#answers + 1] = job
    and fail_one(job, token ~= '', failure, message, traceback, retry_in, data) or refusal
end
return write_back(answers)
