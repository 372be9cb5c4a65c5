-- circle: why a job may not wait for these: it would wait for itself, directly or through those that
-- wait for it, or there are too many of them to tell. Nil if it may.
--
-- uses   keys jobs places policies

local SEARCH_AT_MOST = 10000

-- Of all jobs of a call together.
local searched = 0

return function(id, group, parents)
  local wanted, seen, line = {}, {}, {}
  for _, parent in ipairs(parents) do
    wanted[parent] = true
  end

  local function meet(name)
    if not seen[name] then
      seen[name] = true
      searched = searched + 1
      line[#line + 1] = name
    end
  end

  local function meet_dependents(name)
    for _, policy in ipairs(POLICIES) do
      local where = dependents_key(policy, name)
      settle_one(where)
      local dependents = redis.call('ZRANGE', where, 0, SEARCH_AT_MOST)
      read_jobs(dependents)
      for _, dependent in ipairs(dependents) do
        local job = read_job(dependent)
        meet(dependent)
        if job and extra(job, 'group') then
          meet(group_parent(extra(job, 'group')))
        end
      end
    end
  end

  meet(id)
  if group then
    meet(group_parent(group))
  end
  local at = 1
  while line[at] do
    local job = read_job(line[at])
    if wanted[line[at]] then
      return 'DEPENDENCY_REFUSED circle'
    elseif searched > SEARCH_AT_MOST then
      return 'DEPENDENCY_REFUSED reach'
    elseif group_of(line[at]) or job and extra(job, 'awaited') then
      meet_dependents(line[at])
    end
    at = at + 1
  end
end
