-- top_tags: tags that at least so many jobs have, each with how many, the most used first.
--
-- args   least:int offset:int count:int
-- uses   keys
-- reply  {tag, count, ...}

return redis.call('ZRANGE', TAGS, '+inf', least, 'BYSCORE', 'REV', 'LIMIT', offset, count, 'WITHSCORES')
