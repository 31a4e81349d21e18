/** Gives a lock back. */
export type Release = () => Promise<unknown>;

/** How a session is opened. */
export interface SessionOptions {
  /** Where the servers listen on the loopback interface; several for a quorum. */
  readonly ports: readonly number[];
  /** Whether to use the settings that suit the library best, instead of its own defaults. */
  readonly tuned: boolean;
}

/** A library that is connected to its servers: the few things that all libraries can do, in one shape. */
export interface Session {
  /** Waits for a lock, for as long as the library does by itself. */
  lock?(name: string, lease?: number): Promise<Release>;
  /** Takes a free lock and gives it back, where that is another thing than `lock`. */
  pair?(name: string): Promise<unknown>;
  /** Takes a lock that is renewed until it is given back; `lost` hears of it when it is gone. */
  hold?(name: string, lease: number, lost: () => void): Promise<Release>;
  /** Waits for a lock for at most so many milliseconds, by the means of the library. */
  within?(name: string, ms: number): Promise<Release>;
}

/** What an adapter exports. */
export interface Adapter {
  open(options: SessionOptions): Promise<Session>;
}

/** Runs a function that lasts for as long as a lock is held, and returns what ends it once it runs. */
export function held(run: (routine: () => Promise<void>) => Promise<unknown>): Promise<Release> {
  return new Promise((resolve, reject) => {
    const over = Promise.withResolvers<void>();
    const ended = run(() => {
      resolve(() => {
        over.resolve();
        return ended;
      });
      return over.promise;
    });
    ended.catch(reject);
  });
}
