-- fast_path_switch: whether the plain case of put, pop and complete takes the short way. Tests swap this file,
-- to show that the long way does the same.

local FAST_PATH = true
