--- Tokens and sessions.
local json = require("cjson")
local base = require "store.base"
local insert = table.insert

local M = {}
M.VERSION = "1"

--- Answers for users.
-- @param user who
function M.login(user)
  local function check() return true end
  local inner = 1
  return check()
end

--[[ 終了する。
二行目 ]]
function M:logout()
end

M.retry = function(times)
  return times
end

local Account = { limit = 3, open = function() end }
Account.__index = Account

function Account.Inner.deep() end

local function 挨拶()
  return "こんにちは"
end

LIMIT = 10

function global_one(a, ...)
end

return M
