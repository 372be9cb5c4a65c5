-- queue_settings: the options of a queue that have been set, and those of the namespace.
--
-- args   queue
-- uses   keys
-- reply  {{name, value, ...} of the queue, {name, value, ...} of the namespace}

return { redis.call('HGETALL', key('settings', queue)), redis.call('HGETALL', CONFIG) }
