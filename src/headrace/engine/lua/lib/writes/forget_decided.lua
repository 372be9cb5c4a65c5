-- forget_decided: the ledger forgets a write whose time is over, unless it is still to be published, which
-- it cannot be if its bundle was lost.
--
-- uses   keys now sorted_sets ledger bundles

return function(write)
  local bundle = redis.call('HGET', key('write', write), 'bundle')
  if is_published(write) or not bundle or redis.call('EXISTS', key('bundle', bundle)) == 0 then
    forget_write(write)
  else
    zset_add(AGENDA, 'write:' .. write, now + DAY)
  end
end
