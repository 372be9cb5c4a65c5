-- join_queue: add a job to the back of a queue, like a new one: its retries are renewed.
--
-- uses   now job_records books ensure_queue unique_values job_states
-- later  block_job

local function join_queue(job, queue, seq, delay, parents)
  ensure_queue(queue)
  job.queue = queue
  job.seq = seq
  job.put_at = now
  job.remaining = job.retries
  job.ended = false
  if job.extra then
    set_extra(job, 'releases', nil)
  end
  claim_unique_value(job)
  book(queue, 'put', 1)
  if not (parents and block_job(job, parents, delay)) then
    enqueue(job, delay)
  end
end
