-- lane_access: return whether a waiting job is also listed in a lane. Most queues have no lanes.
--
-- uses   settings job_records

local function is_in_lane(job)
  return settings(job.queue).governed or extra(job, 'key') or extra(job, 'throttles')
end
