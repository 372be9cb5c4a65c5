-- results: keep and drop results of jobs. A result whose job is not kept is listed by its queue, so that
-- deleting the queue deletes it.
--
-- uses   keys now settings job_records sorted_sets

local function keep_result(job, result, alone)
  redis.call('SET', key('result', job.id), result)
  zset_add(AGENDA, 'result:' .. job.id, now + (extra(job, 'result_ttl') or settings(job.queue).result_ttl))
  if alone then
    zset_add(key('results', job.queue), job.id, now)
  end
end

local function drop_result(job)
  redis.call('DEL', key('result', job.id))
  zset_remove(AGENDA, 'result:' .. job.id)
  zset_remove(key('results', job.queue), job.id)
end
