-- config_set: change the settings of the namespace. An absent value restores the default.
--
-- each   name value:optional
-- flags  allow-oom
-- uses   keys
-- reply  1

for name, value in each() do
  if value then
    redis.call('HSET', CONFIG, name, value)
  else
    redis.call('HDEL', CONFIG, name)
  end
end
return 1
