-- drain_ingress: turn the elements of a queue's ingress list into jobs, if there are any. True when the list is
-- empty. The time of a job is when it is taken from the list.
--
-- uses   keys
-- later  take_ingress

local function drain_ingress(queue)
  return redis.call('EXISTS', key('ingress', queue)) == 0 or take_ingress(queue)
end
