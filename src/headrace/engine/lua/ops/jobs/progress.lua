-- progress: store the progress of a job: the completed share and a note.
--
-- args   id token share:number note
-- flags  allow-oom
-- uses   keys check_lease
-- reply  1 or a refusal
-- error  NOT_FOUND LEASE_LOST

local job, refusal = check_lease(id, token)
if not job then
  return refusal
end
redis.call('HSET', key('notes', id), 'progress', share, 'note', note)
return 1
