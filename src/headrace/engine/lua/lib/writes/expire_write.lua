-- expire_write: delete an old entry of the commit log, unless the write can still be published, which needs
-- its transaction.
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
