-- forget_lake: a lake no longer keeps events from being trimmed.
--
-- args   lake
-- uses   keys
-- reply  1 if it was known, else 0

return redis.call('HDEL', LAKES, lake)
