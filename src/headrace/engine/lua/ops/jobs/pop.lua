-- pop: hand the next jobs of a queue to a worker, each job under its own lease. Jobs whose leases expired
-- come first, then waiting jobs. A lease of -1 means the queue's setting `lease`. A lease of -2 ends only
-- with the worker's session, if the queue uses sessions. With an offer, a worker that finds no job is
-- handed the next plain job that is put within `offer` milliseconds.
--
-- args   queue:short_name worker:short_name secret count:int lease:int offer:int
-- flags  allow-oom
-- uses   keys now defaults setting_value endless_leases short_path_enabled events short_path plain_pop pop_general
-- uses   write_back outages
-- reply  {milliseconds until something is due or -1, {id, payload with a key of its own, ...}, id, record, ...},
--        or {UNFINISHED, ticket} if a repeated call must go on with this ticket
-- error  SESSION_REQUIRED

open_log()
local own_session, own_lease, own_paused, own_removes, own_stats, limited, created, idle_worker = unpack(
  redis.call('HMGET', key('settings', queue), 'session', 'lease', 'paused', 'removes', 'stats', 'limited',
    'created', 'idle'))
local shared_session, shared_lease, shared_paused, shared_removes, shared_stats = unpack(
  redis.call('HMGET', CONFIG, 'session', 'lease', 'paused', 'removes', 'stats'))

local session_mode = setting_value(own_session, shared_session, DEFAULT_SESSION)
local while_session = lease == -2 and session_mode
if (while_session or session_mode == 'required')
  and tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) <= now
  or session_mode == 'required' and not redis.call('ZSCORE', key('serves', worker), queue) then
  return 'SESSION_REQUIRED'
end

local span = setting_value(own_lease, shared_lease, DEFAULT_LEASE)
if lease >= 0 then
  span = lease
elseif while_session then
  span = false
end
local deadline = span and now + span or endless_score(secret)

local reply
if SHORT_PATH and not limited and not again and stamp == now
  and setting_value(own_paused, shared_paused, DEFAULT_PAUSED) ~= 1
  and setting_value(own_removes, shared_removes, DEFAULT_REMOVES) ~= 1 then
  reply = plain_pop(queue, worker, secret, count, deadline, setting_value(own_stats, shared_stats, DEFAULT_STATS) == 1)
end
if reply and (offer > 0 or idle_worker) then
  local may_offer = offer > 0 and #reply == 2 and while_session and created
  update_offer(queue, worker, secret, may_offer and offer, idle_worker)
end
local left = reply and end_short_path(queue)
if reply and not left then
  if #reply == 2 and not while_session then
    reply[1] = ms_until_contact(reply[1])
  end
  return reply
end

local number_before, stamp_before = first_number, stamp
use_state()
if reply then
  finish_short_path(left)
  return reply
end
open_log(number_before, stamp_before)
reply = pop_general(queue, worker, secret, count, deadline)
if #reply == 2 and reply[1] ~= 0 and reply[1] ~= AGAIN_SOON and not while_session then
  reply[1] = ms_until_contact(reply[1])
end
return reply
