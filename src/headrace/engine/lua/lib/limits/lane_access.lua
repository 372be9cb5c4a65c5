-- lane_access: whether a job stands in a lane while it waits; and what is done with lanes, which most
-- queues never need: lanes(step, ...), made when it is first called.
--
-- uses   settings job_records
-- later  lanes

local function is_in_lane(job)
  return settings(job.queue).governed or extra(job, 'key') or extra(job, 'throttles')
end
