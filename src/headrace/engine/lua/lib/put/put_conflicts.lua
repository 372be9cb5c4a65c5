-- put_conflicts: put a job whose id or unique value exists. The option on_exists decides what happens. With
-- `move`, the existing job moves to this queue with the new data. With `replace`, a pending job keeps its
-- position and gets the new data; the put of a running job is refused; a failed or complete job moves as with
-- `move`. With `reject`, the put is refused. With `duplicate`, a second job is created under a spare id: another
-- new id, which the client generates for this case. If another job holds the unique value and the policy is
-- `replace`, that job gets the new data. If it is running, it only loses its unique value, and the new job is
-- created. With any other policy, the put is refused.
--
-- uses   put_rules job_records create_job replace_job unique_values change_queue

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

local function create_instead(other_job, into, id, data, given)
  release_unique_value(other_job)
  set_extra(other_job, 'unique', nil)
  mark_changed(other_job)
  create_job(into, id, data, given)
  return 1
end

local function put_taken_unique_value(other_job, into, id, data, given)
  if exists_policy(into) ~= 'replace' then
    return unique_refusal(into, given.unique, id)
  elseif other_job.state == 'running' then
    return refused_links(nil, id, given, given.depends_on)
      or create_instead(other_job, into, id, data, given)
  end
  return refused_links(other_job, other_job.id, given, kept_parents(other_job, given))
    or replace_job(other_job, data, given) and '=' .. other_job.id
end
