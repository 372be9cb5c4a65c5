-- cancel: jobs are deleted, wherever they are; a complete one is left alone. Whoever runs one is
-- told. What is gone when a call is repeated counts as cancelled by it. Those on which others depend
-- are deleted only with all of these: named in the same call, or cascading from job to job.
--
-- args   cascade:flag
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

for _, id in ipairs(cascade and {} or ids) do
  local job = read_job(id)
  local others = job and extra(job, 'awaited') and others_that_depend_on(job) or {}
  if others[1] then
    return { 'HAS_DEPENDENTS', id, unpack(others) }
  end
end

cascading = cascade
local answers = {}
for _, id in ipairs(ids) do
  local job = read_job(id)
  if not job then
    answers[#answers + 1] = again and 'DONE' or 'NOT_FOUND'
  elseif job.state == 'complete' then
    answers[#answers + 1] = 'WRONG_STATE complete'
  else
    answers[#answers + 1] = job.state
    cancel_job(job, 'operator')
  end
end
cascading = false
return commit(answers)
