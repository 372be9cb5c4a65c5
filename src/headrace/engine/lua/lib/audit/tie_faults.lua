-- tie_faults: what is wrong with the claim of a job, its tags or its being tracked.
--
-- uses   keys jobs

local function may_claim(job)
  return extra(job, 'unique') and job.state ~= 'failed' and job.state ~= 'complete'
end

local function has_claim(job)
  return may_claim(job)
    and redis.call('HGET', key('unique', job.queue), extra(job, 'unique')) == job.id
end

local function unlisted_tag(job)
  for _, tag in ipairs(extra(job, 'tags') or {}) do
    if not redis.call('ZSCORE', key('tag', tag), job.id) or not redis.call('ZSCORE', TAGS, tag) then
      return tag
    end
  end
end

local function tie_fault(job)
  if may_claim(job) and not has_claim(job) then
    return 'has no claim to its unique value ' .. extra(job, 'unique')
  elseif unlisted_tag(job) then
    return 'is not listed under its tag ' .. unlisted_tag(job)
  elseif extra(job, 'tracked') and not redis.call('ZSCORE', TRACKED, job.id) then
    return 'is tracked but not listed as tracked'
  end
end
