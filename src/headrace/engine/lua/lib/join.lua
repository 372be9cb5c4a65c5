-- join: a job comes into a queue, as new as any other there: at the back, its retries renewed.
--
-- uses   now books open_queue line_up

local function join(job, queue, seq, delay)
  open_queue(queue)
  job.queue = queue
  job.seq = seq
  job.put_at = now
  job.remaining = job.retries
  job.releases = 0
  job.failure = false
  count(queue, 'put', 1)
  line_up(job, delay)
end
