-- cancel: delete jobs in any state except complete, and notify the workers that run these jobs. A
-- job with dependents
-- is deleted only together with all its dependents. These dependents must be in the same call unless
-- `cascade` is set. `expected` may contain a condition for each job: the time of the job's failure, the
-- state of the job, or '' for no condition. A job that does not match its condition is not deleted. If a
-- job has dependents outside the call, the whole call is refused, or only that job if `expected` is set.
--
-- args   cascade:flag expected:packed
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   job_records dependency_policies job_finished cancel_and_expire remembered_answers write_back
-- reply  for each job, its former state or a refusal; or {HAS_DEPENDENTS, id, dependent, ...}
-- error  NOT_FOUND WRONG_STATE HAS_DEPENDENTS

local TELL_AT_MOST = 10

local function is_meant(job, wanted)
  if type(wanted) == 'number' then
    return job.state == 'failed' and wanted == extra(job, 'failure')[3]
  end
  return job.state ~= 'complete' and (wanted == '' or wanted == job.state)
end

local ids, going = ids_of(each), {}
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
      return without_effect({ 'HAS_DEPENDENTS', id, unpack(others) })
    end
    held_back[#held_back + 1] = others[1] and id
  end
end
for _, id in ipairs(held_back) do
  refuse(id)
end

local function answer(id, job)
  if not job then
    return 'NOT_FOUND'
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
