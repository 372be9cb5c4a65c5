-- config_get: the options of the namespace that have been set.
--
-- uses   keys
-- reply  {name, value, ...}

return redis.call('HGETALL', CONFIG)
