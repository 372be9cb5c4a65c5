-- forget_decided: the ledger forgets a write whose time is over, unless it is still to be published.
--
-- uses   now places ledger

return function(write)
  if is_published(write) then
    forget_write(write)
  else
    place(AGENDA, 'write:' .. write, now + DAY)
  end
end
