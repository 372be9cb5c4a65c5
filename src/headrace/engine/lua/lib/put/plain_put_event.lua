-- plain_put_event: the event of a put without options. A payload that is too large for the log is left out, with
-- its size, as told_data does.
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
