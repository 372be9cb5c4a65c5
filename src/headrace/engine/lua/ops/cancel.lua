-- cancel: jobs are deleted, wherever they are; a complete one is left alone. Whoever runs one is
-- told. What is gone when a call is repeated counts as cancelled by it. Those on which others depend
-- are deleted only with all of these: named in the same call, or cascading from job to job. Where it is
-- expected of each when it failed, only what is failed since then is deleted, and what others depend on
-- is refused by itself.
--
-- args   cascade:flag expected:packed
-- each   id
-- flags  allow-oom
-- uses   keys jobs policies ends cancel_job commit
-- reply  for each, the state it was in or why not; or {HAS_DEPENDENTS, id, a dependent, ...}
-- error  NOT_FOUND WRONG_STATE DONE HAS_DEPENDENTS

local TELL_AT_MOST = 10

local named, ids = {}, {}
for id in each() do
  ids[#ids + 1] = id
  named[id] = true
end
read_jobs(ids)

local function others_that_depend_on(job)
  local found = {}
  for _, policy in ipairs(POLICIES) do
    for _, dependent in ipairs(redis.call('ZRANGE', dependents_key(policy, job.id), 0, #ids)) do
      if not named[dependent] and #found < TELL_AT_MOST then
        found[#found + 1] = dependent
      end
    end
  end
  return found
end

local function others_of(job)
  return extra(job, 'awaited') and others_that_depend_on(job) or {}
end

for _, id in ipairs((cascade or expected) and {} or ids) do
  local job = read_job(id)
  local others = job and others_of(job) or {}
  if others[1] then
    return { 'HAS_DEPENDENTS', id, unpack(others) }
  end
end

local function refusal(job, failed_at)
  if job.state == 'complete' or failed_at and job.state ~= 'failed'
    or failed_at and failed_at ~= extra(job, 'failure')[3] then
    return 'WRONG_STATE ' .. job.state
  end
  return failed_at and others_of(job)[1] and 'HAS_DEPENDENTS'
end

cascading = cascade
local answers = {}
for i, id in ipairs(ids) do
  local job = read_job(id)
  if not job then
    answers[i] = again and 'DONE' or 'NOT_FOUND'
  else
    answers[i] = refusal(job, expected and expected[i]) or job.state
    if answers[i] == job.state then
      cancel_job(job, 'operator')
    end
  end
end
cascading = false
return commit(answers)
