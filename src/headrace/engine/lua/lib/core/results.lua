-- results: what jobs came to, each kept for a time. One whose job is not kept is listed by its
-- queue, so that it can go when the queue goes.
--
-- uses   keys now settings jobs places

local function keep_result(job, result, alone)
  redis.call('SET', key('result', job.id), result)
  place(AGENDA, 'result:' .. job.id, now + (extra(job, 'result_ttl') or settings(job.queue).result_ttl))
  if alone then
    place(key('results', job.queue), job.id, now)
  end
end

local function drop_result(job)
  redis.call('DEL', key('result', job.id))
  lift(AGENDA, 'result:' .. job.id)
  lift(key('results', job.queue), job.id)
end
