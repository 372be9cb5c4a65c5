-- ingress: what was pushed on the list of a queue from outside becomes jobs of it. True when nothing is
-- left there. The time is that of the taking in.
--
-- uses   keys
-- later  take_ingress

local function drain_ingress(queue)
  return redis.call('EXISTS', key('ingress', queue)) == 0 or take_ingress(queue)
end
