-- collide: a put of a unique value that another job of the queue has. Where the policy is to replace, the
-- other gets the data; while it runs it only is no longer unique. Otherwise the put is refused.
--
-- uses   jobs make replace claims

local function make_instead(other_job, into, id, data, given)
  release_claim(other_job)
  set_extra(other_job, 'unique', nil)
  touch(other_job)
  make(into, id, data, given, nonce)
  return 1
end

return function(other_job, into, id, data, given)
  if policy_of(into) ~= 'replace' then
    return claim_refusal(into, given.unique, id)
  elseif again and not touched[other_job.id] and extra(other_job, 'by') == nonce then
    return '=' .. other_job.id
  elseif other_job.state == 'running' then
    return refused_links(nil, id, given, given.depends_on)
      or make_instead(other_job, into, id, data, given)
  end
  return refused_links(other_job, other_job.id, given, kept_parents(other_job, given))
    or replace(other_job, data, given) and '=' .. other_job.id
end
