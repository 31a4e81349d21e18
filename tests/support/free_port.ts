/** Below those that systems give to connections: these could take the port of a server that is being restarted. */
const LOWEST_PORT = 10_000;
export const HIGHEST_PORT = 32_767;

/** Where nobody listens: a port that another process could take is free for a moment only. */
export const CLOSED_PORT = 1;

/** Returns a port of the loopback interface that nobody listens on, and that is no higher. */
export function freePort(highest: number = HIGHEST_PORT): number {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (highest + 1 - LOWEST_PORT));
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
