-- peek: list the next jobs in the order in which pop would hand them out. As at the next pop, due jobs
-- start to wait, due schedules create jobs, jobs of dead workers return, and some elements of the ingress
-- list become jobs. Nothing else changes.
--
-- args   queue count:int
-- uses   keys set_members now settings job_records sorted_sets reclaim_dead_worker promote_due_jobs
-- uses   run_due_schedules drain_ingress expired_leases describe_jobs write_back
-- reply  {1 if every job that may come first was considered, described job, ...}

local LOOK_AT_MOST = 10000

local done = reclaim_dead_worker() and promote_due_jobs(queue) and run_due_schedules(queue)
drain_ingress(queue)
flush_zsets()

local ids = {}
for _, late in ipairs(expired_leases(queue)) do
  local job = late[1]
  if #ids < count and not (job.retries and job.remaining <= 0) then
    ids[#ids + 1] = job.id
  end
end

-- later  peek_lanes

if settings(queue).governed then
  peek_lanes(ids)
  local seen = describe_jobs(ids)
  table.insert(seen, 1, done and 1 or 0)
  return write_back(seen)
end

-- Skip jobs that pop would expire instead of handing them out, however many there are.
local page = math.max(count, 100)
local from = 0
while #ids < count and from < LOOK_AT_MOST do
  local found = redis.call('ZRANGE', key('waiting', queue), from, from + page - 1)
  for i, place_name in ipairs(found) do
    found[i] = name_in(place_name)
  end
  read_jobs(found)
  for _, id in ipairs(found) do
    local job = read_job(id)
    if job and #ids < count and (extra(job, 'start_by') or math.huge) > now then
      ids[#ids + 1] = id
    end
  end
  from = #found < page and LOOK_AT_MOST or from + page
end

local reply = describe_jobs(ids)
table.insert(reply, 1, done and 1 or 0)
return write_back(reply)
