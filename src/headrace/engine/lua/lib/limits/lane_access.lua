-- lane_access: return whether a job belongs to a lane while the job waits. Most queues have no lanes.
--
-- uses   settings job_records

local function is_in_lane(job)
  return settings(job.queue).governed or extra(job, 'key') or extra(job, 'throttles')
end
