-- retry: failed jobs are tried again, from the back of their queue, their budget renewed. The
-- nonce tells a repeated call from a second one.
--
-- args   delay:int nonce
-- each   id
-- flags  allow-oom
-- uses   jobs emit move failure_list claims line_up commit
-- reply  for each, its new state or why not
-- error  NOT_FOUND WRONG_STATE UNIQUE_TAKEN

local function try_again(job)
  unlist_failure(job)
  leave(job)
  job.remaining = job.retries
  set_extra(job, 'releases', nil)
  set_extra(job, 'by', nonce)
  job.token = ''
  job.seq = emit('unfailed', job, nil, nil, nil, { 'delay', delay })
  take_claim(job)
  line_up(job, delay)
  return job.state
end

local answers = {}
for id in each() do
  local job = read_job(id)
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif again and extra(job, 'by') == nonce then
    answers[#answers + 1] = job.state
  elseif job.state ~= 'failed' then
    answers[#answers + 1] = 'WRONG_STATE ' .. job.state
  else
    answers[#answers + 1] = claim_refusal(job.queue, extra(job, 'unique'), id) or try_again(job)
  end
end
return commit(answers)
