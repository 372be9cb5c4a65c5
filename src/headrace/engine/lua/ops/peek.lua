-- peek: the next jobs in the order in which pop would hand them out. Due jobs start to wait, which
-- nobody can tell from their having done so before; nothing else changes.
--
-- args   queue count:int
-- uses   keys now jobs places promote describe commit
-- reply  {1 when every due job was considered, described job, ...}

local done = promote(queue)
settle()

local LOOK_AT_MOST = 10000
local ids = {}

-- Passes over what pop would set aside instead of handing it out, however many there are.
local function collect(state, until_score, id_starts, goes_out)
  local page = math.max(count, 100)
  for from = 0, LOOK_AT_MOST, page do
    local found = redis.call(
      'ZRANGE', key(state, queue), '-inf', until_score, 'BYSCORE', 'LIMIT', from, page
    )
    for i, name in ipairs(found) do
      found[i] = string.sub(name, id_starts)
    end
    read_jobs(found)
    for _, id in ipairs(found) do
      if #ids < count and goes_out(read_job(id)) then
        ids[#ids + 1] = id
      end
    end
    if #ids == count or #found < page then
      return
    end
  end
end

collect('running', now, 1, function(job)
  return not (job.retries and job.remaining <= 0)
end)
collect('waiting', '+inf', 17, function(job)
  return (extra(job, 'start_by') or math.huge) > now
end)

local reply = describe_all(ids)
table.insert(reply, 1, done and 1 or 0)
return commit(reply)
