-- peek: the next jobs in the order in which pop would hand them out. Due jobs start to wait, which
-- nobody can tell from their having done so before; nothing else changes.
--
-- args   queue count:int
-- uses   keys now jobs places promote describe commit
-- reply  {1 when every due job was considered, described job, ...}

local done = promote(queue)
settle()

local ids = {}
local late = redis.call('ZRANGE', key('running', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, 2 * count)
for _, id in ipairs(late) do
  local job = read_job(id)
  if #ids < count and not (job.retries and job.remaining <= 0) then
    ids[#ids + 1] = id
  end
end
for _, place_name in ipairs(redis.call('ZRANGE', key('waiting', queue), 0, 2 * count - 1)) do
  local id = string.sub(place_name, 17)
  local start_by = read_job(id).start_by
  if #ids < count and not (start_by and start_by <= now) then
    ids[#ids + 1] = id
  end
end

local reply = describe_all(ids)
table.insert(reply, 1, done and 1 or 0)
return commit(reply)
