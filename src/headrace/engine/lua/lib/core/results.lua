-- results: store and delete the results of jobs. A completed job may be kept only because of its result. The
-- sorted set results:<queue> lists such a job, so that deleting the queue also deletes the result.
--
-- uses   keys now settings job_records sorted_sets kept_jobs

local function keep_result(job, result, alone)
  redis.call('SET', key('result', job.id), result)
  zset_add(AGENDA, 'result:' .. job.id, now + (extra(job, 'result_ttl') or settings(job.queue).result_ttl))
  if alone then
    zset_add(key('results', job.queue), job.id, now)
  end
end

-- Return the state of a job, whether the job has a result, the result and the data. Also return the job if the
-- job has a result.
local function stored_result(id)
  local job = read_job(id)
  if job and is_past_retention(job) then
    job = nil
  end
  local value = job and has_result(id) and redis.call('GET', key('result', id))
  if not value then
    return { job and job.state or '', 0, '', '' }
  end
  return { job.state, 1, value, payload(job) }, job
end

local function drop_result(job)
  redis.call('DEL', key('result', job.id))
  zset_remove(AGENDA, 'result:' .. job.id)
  zset_remove(key('results', job.queue), job.id)
end
