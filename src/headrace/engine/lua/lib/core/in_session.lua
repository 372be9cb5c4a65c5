-- in_session: whether a worker has a session; only then it is listed what the worker holds.
--
-- uses   keys

local sessions_known = {}

local function in_session(worker)
  local known_session = sessions_known[worker]
  if known_session == nil then
    known_session = redis.call('ZSCORE', SESSIONS, worker) and true or false
    sessions_known[worker] = known_session
  end
  return known_session
end
