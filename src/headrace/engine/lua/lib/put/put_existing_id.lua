-- put_existing_id: put a job whose id already exists. The option on_exists decides what happens. With `move`, the
-- existing job moves to this queue with the new data. With `replace`, a pending job keeps its position and gets
-- the new data; the put of a running job is refused; a failed or complete job moves as with `move`. With
-- `reject`, the put is refused. With `duplicate`, a second job is created under a spare id: another new id, which
-- the client generates for this case.
--
-- uses   put_rules job_records create_job replace_job change_queue unique_values

local function move_here(job, into, data, given)
  local from, was = job.queue, job.state
  local delay = given and given.delay or 0
  leave_queue(job)
  job.worker = ''
  job.queue = into
  apply_put(job, data, given)
  join_queue(job, into, emit_put(job, data, { 'from', from, 'was', was, 'delay', delay }), delay,
    given and given.depends_on)
  return 3
end

local function put_existing_id(job, into, spare, data, given)
  local policy, value = exists_policy(into), given and given.unique
  if policy == 'duplicate' then
    return unique_refusal(into, value, spare)
      or refused_links(nil, spare, given, given and given.depends_on)
      or create_job(into, spare, data, given) and 2
  elseif policy == 'reject' or policy == 'replace' and job.state == 'running' then
    return 'JOB_EXISTS ' .. job.state
  elseif policy == 'replace' and can_be_replaced(job) then
    return unique_refusal(job.queue, value, job.id)
      or refused_links(job, job.id, given, kept_parents(job, given))
      or replace_job(job, data, given)
  end
  return unique_refusal(into, value or extra(job, 'unique'), job.id)
    or refused_links(job, job.id, given, given and given.depends_on)
    or move_here(job, into, data, given)
end
