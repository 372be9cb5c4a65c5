-- sweep: one turn of housekeeping that any peer may do: jobs of dead workers go back, due jobs of
-- the given queues start to wait, due schedules make theirs, those from outside are taken in, limits
-- are kept, and somebody is woken for late jobs.
--
-- each   queue
-- flags  allow-oom
-- uses   keys now reclaim promote spawn ingress places notices retain tidy settings ends commit
-- reply  1 when nothing is left to do, else 0

local QUEUES_PRUNED_AT_MOST = 4
local RATES_PRUNED_AT_MOST = 500
local pruned = 0

local done = reclaim()
settle()
for queue in each() do
  done = promote(queue) and done
  done = spawn(queue) and done
  done = ingress(queue) and done
  local late = redis.call('ZCOUNT', key('running', queue), '-inf', now)
  if late > 0 then
    wake(queue, late)
  end
  if pruned < QUEUES_PRUNED_AT_MOST and keeps_too_much(queue) then
    retain(queue)
    pruned = pruned + 1
  end
  done = done and not keeps_too_much(queue)
  local unused = redis.call('ZRANGE', key('rates', queue), '-inf', string.format('%.0f', 1000 * now),
    'BYSCORE', 'LIMIT', 0, RATES_PRUNED_AT_MOST)
  if #unused > 0 then
    redis.call('ZREM', key('rates', queue), unpack(unused))
  end
  done = done and #unused < RATES_PRUNED_AT_MOST
end
done = tidy() and done and not unlocking[1]
return commit(done and 1 or 0)
