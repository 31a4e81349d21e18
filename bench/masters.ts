import { RedisServer } from "../tests/support/redis_server.ts";

/** Starts so many servers, which are stopped at the end of the run. */
export async function masters(count: number, stack: AsyncDisposableStack): Promise<RedisServer[]> {
  const starting = Array.from({ length: count }, () => RedisServer.start());
  // Before they are up: the run may be interrupted at any moment.
  for (const each of starting) stack.defer(() => each.then((server) => server[Symbol.asyncDispose](), () => {}));
  return await Promise.all(starting);
}
