-- put: create jobs. `options` contains the options that all jobs share, and options of the call. A spare id is
-- the id that a job gets with the policy `duplicate` if its own id exists. If any job has a spare id or its own
-- options, the option `others` contains a spare id and options for each job. The arguments `id` and `data` are
-- those of the first job, and `next_id` is nil if the call puts only one job. A call without the option
-- `on_exists` has only new ids, so if a job exists, an earlier attempt of this call has created it. Otherwise the
-- option `on_exists` decides what happens if a job exists: `move` moves the existing job to this queue, `replace`
-- replaces its data, `reject` refuses the new job, and `duplicate` creates the new job under its spare id.
--
-- args   queue:short_name options:packed id:short_name data next_id
-- each   id:short_name data
-- role   producer
-- nonce  sometimes
-- uses   plain_put job_records put_general write_back
-- reply  the number of jobs if all were created, else for each: 1 created, 2 created under its spare id,
--        3 moved, 4 replaced, 0 already created, '=' and an id: that job was replaced instead, or a refusal
-- error  JOB_EXISTS DEPENDENCY_REFUSED UNIQUE_TAKEN TOO_MANY

local made, left
if not options or are_plain(options) then
  if next_id then
    made, left = put_plain_jobs(queue, each, options)
  else
    made, left = put_plain_job(queue, id, data, options)
  end
end
if made and not left then
  return made
end
use_state()
if not may_change_jobs() then
  only_add_jobs()
end
if made then
  finish_short_path(left)
  return made
end
return put_general(queue, options or {}, each)
