-- put_taken_unique_value: put a job whose unique value another job of the queue holds. With the policy
-- `replace`, the other job gets the new data. If the other job is running, that job only loses its unique
-- value, and the new job is created. With any other policy, the put is refused.
--
-- uses   put_rules job_records create_job replace_job unique_values

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
