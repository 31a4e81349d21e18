import type { Script } from "../../../src/stores/redis/commands/command.ts";

/**
 * A script for which the server's clock shows a moment in µs: the server executes all of it but the command TIME, and
 * PTTL when what that replies is given.
 */
export function atTime({ source }: Script, time: bigint, pttl?: number): string {
  const left = pttl === undefined ? "" : `if name == 'PTTL' then return ${pttl} end`;
  return `
local server = redis
local redis = setmetatable({
  call = function(name, ...)
    if name == 'TIME' then return { '${time / 1_000_000n}', '${time % 1_000_000n}' } end
    ${left}
    return server.call(name, ...)
  end,
}, { __index = server })
${source}`;
}
