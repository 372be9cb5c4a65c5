-- join: a job comes into a queue, as new as any other there: at the back, its retries renewed.
--
-- uses   now jobs books open_queue claims move
-- later  hold_back

local function join(job, queue, seq, delay, parents)
  open_queue(queue)
  job.queue = queue
  job.seq = seq
  job.put_at = now
  job.remaining = job.retries
  job.ended = false
  if job.extra then
    set_extra(job, 'releases', nil)
  end
  take_claim(job)
  book(queue, 'put', 1)
  if not (parents and hold_back(job, parents, delay)) then
    line_up(job, delay)
  end
end
