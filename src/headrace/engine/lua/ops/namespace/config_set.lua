-- config_set: change the settings of the namespace. An absent value restores the default.
--
-- args   actor:short_name
-- each   name value:optional
-- flags  allow-oom
-- nonce  always
-- uses   keys operator_events write_back
-- reply  1

change_settings(CONFIG, '', each, actor)
return write_back(1)
