-- publish_rows: turn staged rows into jobs by the general path of put. The write is already committed, so a
-- row that put would refuse is skipped and counted.
--
-- uses   job_records create_job

local again, nonce, on_exists = false, '', ''

-- Staged rows have no dependencies, and the earlier dependencies of a job cannot form a cycle.
local function refused_links()
  return nil
end

-- later  put_existing_id

local COUNTED = { 'made', 'made', 'moved', 'replaced' }

return function(queue, policy, every, others)
  on_exists = policy
  local ids = {}
  for id in every() do
    ids[#ids + 1] = id
  end
  read_jobs(ids)
  local counted, at = {}, 0
  for id, data in every() do
    at = at + 1
    local spare, own
    if others then
      spare, own = others[at][1], others[at][2]
    end
    local job = loaded_jobs[id]
    local answer = job and put_existing_id(job, queue, spare, data, own)
      or create_job(queue, id, data, own, nonce) and 1
    local what = COUNTED[answer] or 'skipped'
    counted[what] = (counted[what] or 0) + 1
  end
  return counted
end
