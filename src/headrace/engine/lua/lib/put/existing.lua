-- existing: a put of an id that exists: the job is moved here, replaced where it waits, refused or
-- duplicated under its spare id, as the policy says.
--
-- uses   jobs make replace join depart claims

local function move_here(job, into, data, given)
  local from, was = job.queue, job.state
  local delay = given and given.delay or 0
  depart(job)
  job.worker = ''
  job.queue = into
  apply(job, data, given, nonce)
  join(job, into, put_event(job, data, { 'from', from, 'was', was, 'delay', delay }), delay,
    given and given.depends_on)
  return 3
end

-- Which ids the call that is repeated has made; what this one makes is touched.
local answered = {}

local function made_before(job)
  return again and not touched[job.id] and (extra(job, 'by') or '') == nonce
end

return function(job, into, spare, data, given)
  local policy, value = policy_of(into), given and given.unique
  if made_before(job) and not (policy == 'reject' and answered[job.id]) then
    answered[job.id] = true
    return 0
  elseif policy == 'duplicate' then
    return claim_refusal(into, value, spare)
      or refused_links(nil, spare, given, given and given.depends_on)
      or make(into, spare, data, given, nonce) and 2
  elseif policy == 'reject' or policy == 'replace' and job.state == 'running' then
    return 'JOB_EXISTS ' .. job.state
  elseif policy == 'replace' and can_be_replaced(job) then
    return claim_refusal(job.queue, value, job.id)
      or refused_links(job, job.id, given, kept_parents(job, given))
      or replace(job, data, given)
  end
  return claim_refusal(into, value or extra(job, 'unique'), job.id)
    or refused_links(job, job.id, given, given and given.depends_on)
    or move_here(job, into, data, given)
end
