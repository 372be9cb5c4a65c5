-- plain_put_event: append the event of a put without options. A payload too large for the log is replaced
-- by its size, as event_payload does.
--
-- uses   keys

local function add_plain_put_event(entry, queue, id, data, largest)
  if #data > largest then
    redis.call('XADD', EVENTS, entry, 'kind', 'put', 'id', id, 'queue', queue, 'attempt', '0', 'worker', '',
      'priority', '0', 'wait', '', 'run', '', 'data', '', 'left_out', #data)
  else
    redis.call('XADD', EVENTS, entry, 'kind', 'put', 'id', id, 'queue', queue, 'attempt', '0', 'worker', '',
      'priority', '0', 'wait', '', 'run', '', 'data', data)
  end
end
