-- lane_access: whether a job is in a lane while it waits. Most queues have no lanes, so the function
-- lanes(step, ...) is created at its first call.
--
-- uses   settings job_records
-- later  lanes

local function is_in_lane(job)
  return settings(job.queue).governed or extra(job, 'key') or extra(job, 'throttles')
end
