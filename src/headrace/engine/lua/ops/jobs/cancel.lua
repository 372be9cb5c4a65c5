-- cancel: jobs are deleted, wherever they are; a complete one is left alone. Whoever runs one is
-- told. What is gone when a call is repeated counts as cancelled by it. Those on which others depend
-- are deleted only with all of these: deleted by the same call, or cascading from job to job. Something
-- may be expected of each: when it failed, its state, or '' for nothing. One that is not so is left
-- alone, and what others depend on is then refused by itself.
--
-- args   cascade:flag expected:packed
-- each   id
-- flags  allow-oom
-- uses   job_records dependency_policies job_finished cancel_job write_back
-- reply  for each, the state it was in or why not; or {HAS_DEPENDENTS, id, a dependent, ...}
-- error  NOT_FOUND WRONG_STATE DONE HAS_DEPENDENTS

local TELL_AT_MOST = 10

local function is_meant(job, wanted)
  if type(wanted) == 'number' then
    return job.state == 'failed' and wanted == extra(job, 'failure')[3]
  end
  return job.state ~= 'complete' and (wanted == '' or wanted == job.state)
end

local ids, going = {}, {}
for id in each() do
  ids[#ids + 1] = id
end
read_jobs(ids)
for i, id in ipairs(ids) do
  local job = read_job(id)
  going[id] = job and is_meant(job, expected and expected[i] or '')
end

local parents, refused = {}, {}

local function others_that_depend_on(id)
  local others = {}
  for _, policy in ipairs(POLICIES) do
    for _, dependent in ipairs(redis.call('ZRANGE', dependents_key(policy, id), 0, #ids)) do
      if going[dependent] then
        parents[dependent] = parents[dependent] or {}
        table.insert(parents[dependent], id)
      elseif #others < TELL_AT_MOST then
        others[#others + 1] = dependent
      end
    end
  end
  return others
end

local function refuse(id)
  if not refused[id] then
    refused[id] = true
    for _, parent in ipairs(parents[id] or {}) do
      refuse(parent)
    end
  end
end

local held_back = {}
for _, id in ipairs(cascade and {} or ids) do
  if going[id] and extra(read_job(id), 'awaited') then
    local others = others_that_depend_on(id)
    if others[1] and not expected then
      return { 'HAS_DEPENDENTS', id, unpack(others) }
    end
    held_back[#held_back + 1] = others[1] and id
  end
end
for _, id in ipairs(held_back) do
  refuse(id)
end

local function answer(id, job)
  if not job then
    return again and 'DONE' or 'NOT_FOUND'
  elseif not going[id] then
    return 'WRONG_STATE ' .. job.state
  elseif refused[id] then
    return 'HAS_DEPENDENTS'
  end
  return job.state
end

cascading = cascade
local answers = {}
for i, id in ipairs(ids) do
  local job = read_job(id)
  answers[i] = answer(id, job)
  if job and answers[i] == job.state then
    cancel_job(job, 'operator')
  end
end
cascading = false
return write_back(answers)
