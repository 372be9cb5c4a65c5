-- find_cycle: return a refusal if a job may not depend on these parents, else nil. A job is refused if the
-- job would depend on itself, directly or through its dependents. A job is also refused if the job has too
-- many dependents to check.
--
-- uses   job_records sorted_sets dependency_policies

local SEARCH_AT_MOST = 10000

-- The number of jobs and groups that this call has searched.
local searched = 0

local function find_cycle(id, group, parents)
  local wanted, seen, pending = {}, {}, {}
  for _, parent in ipairs(parents) do
    wanted[parent] = true
  end

  local function visit(name)
    if not seen[name] then
      seen[name] = true
      searched = searched + 1
      pending[#pending + 1] = name
    end
  end

  local function visit_dependents(name)
    for _, policy in ipairs(POLICIES) do
      local where = dependents_key(policy, name)
      flush_zset(where)
      local dependents = redis.call('ZRANGE', where, 0, SEARCH_AT_MOST)
      read_jobs(dependents)
      for _, dependent in ipairs(dependents) do
        local job = read_job(dependent)
        visit(dependent)
        if job and extra(job, 'group') then
          visit(group_parent(extra(job, 'group')))
        end
      end
    end
  end

  visit(id)
  if group then
    visit(group_parent(group))
  end
  local at = 1
  while pending[at] do
    local job = read_job(pending[at])
    if wanted[pending[at]] then
      return 'DEPENDENCY_REFUSED circle'
    elseif searched > SEARCH_AT_MOST then
      return 'DEPENDENCY_REFUSED reach'
    elseif group_of(pending[at]) or job and extra(job, 'awaited') then
      visit_dependents(pending[at])
    end
    at = at + 1
  end
end
