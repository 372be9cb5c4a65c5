-- expire_write: the ledger forgets a write whose time is over, unless it is still to be published, which
-- it cannot be if its bundle was lost.
--
-- uses   keys now sorted_sets commit_log transactions

return function(write)
  local transaction = redis.call('HGET', key('write', write), 'transaction')
  if is_published(write) or not transaction or redis.call('EXISTS', key('transaction', transaction)) == 0 then
    forget_write(write)
  else
    zset_add(AGENDA, 'write:' .. write, now + DAY)
  end
end
